// The page as a whole: which model is in front, its title, addresses, keys.

const front = { model: 0, kept: new Map() };
const firstTitle = document.title;

// Models other than the one in front are packed; our own templates made them, and they change places with it.
let others = null;
async function bringToFront(model) {
  if (model === front.model || !(model in book.models)) return;
  if (!front.kept.has(model)) {
    others ??= await unpacked("models-packed");
    const parsed = new DOMParser().parseFromString(others[model - 1], "text/html");
    const fragment = document.createDocumentFragment();
    fragment.append(...parsed.body.childNodes);
    front.kept.set(model, fragment);
  }
  const stage = byId("model"), waiting = document.createDocumentFragment();
  waiting.append(...stage.childNodes);
  front.kept.set(front.model, waiting);
  stage.append(front.kept.get(model));
  front.kept.delete(model);
  if (byId("model-is") && value("model-is") === String(front.model)) byId("model-is").value = String(model);
  front.model = model;
  if (byId("focus")) byId("focus").value = String(model);
  markFront();
}

function markFront() {
  for (const row of models.rows) {
    const isFront = Number(row.dataset.place) === front.model;
    row.classList.toggle("front", isFront);
    row.querySelector("a").ariaCurrent = isFront ? "true" : null;
  }
}

function showTitle() {
  const isAsked = /[#&](type|q|label|prediction|superclass|into|peers|located|framing|case|not)=/.test(location.hash);
  const model = book.models[front.model];
  document.title = location.hash.includes("case=") && view.open !== null ? `${caseName(view.open)} · imagenet-errors`
    : isAsked ? `${byId("count").textContent} · ${model}`
    : front.model === 0 ? firstTitle : `${model}: how bad are the errors?`;
}

// Show the state that the address names. An address without "=" is a place on the page, and the browser goes there.
async function follow() {
  const address = location.hash.slice(1);
  if (address !== "" && !address.includes("=")) return;
  await ask(address);
  if (/(^|&)case=/.test(address)) return;
  if (/(^|&)(by|type|q|sort|view|page|not|label|prediction|superclass|into|group|peers|from|to|far|located|framing|pictured)=/.test(address)) byId("explorer").scrollIntoView();
  else if (/(^|&)model=/.test(address)) byId("headline").scrollIntoView();
}

function watchKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const act = { "/": () => byId("q").focus(), j: () => stepBetweenRows(1), k: () => stepBetweenRows(-1) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

fillChoices();
watchModels();
watchFilters();
watchComparison();
watchTheme();
watchKeys();
markFront();
byId("matrix").addEventListener("toggle", showMatrix);
byId("focus")?.addEventListener("change", async () => {
  await bringToFront(Number(value("focus")));
  askedAnew(true);
});
addEventListener("hashchange", follow);
await ask(location.hash.includes("=") ? location.hash.slice(1) : "");
if (location.hash.includes("=")) await follow();
document.documentElement.dataset.ready = "true";
