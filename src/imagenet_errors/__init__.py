"""How bad are an ImageNet model's mistakes? Every top-1 error gets its least severe explanation."""

__version__ = "0.1.0"
