"""The run directory: written and read in one room."""
