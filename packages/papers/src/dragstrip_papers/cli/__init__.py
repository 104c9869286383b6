"""What this package adds to the command line, by the entry points in its pyproject.toml."""
