"""The page that shows a run's mistakes."""
