"""Numbers and results in words."""
