"""What people look at: the terminal's tables, the report page, figures; all out of a run directory."""
