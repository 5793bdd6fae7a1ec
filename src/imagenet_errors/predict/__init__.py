"""Predictions of timm models, the only package that imports timm: names, networks, heads, inference."""
