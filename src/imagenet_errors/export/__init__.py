"""A run for other tools: a small file each, all on the run's own tables."""
