// The page of the published models.

watchTheme();
watchModels();
document.documentElement.dataset.ready = "true";
