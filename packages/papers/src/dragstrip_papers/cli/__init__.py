"""Adds this package's commands to the command line, by the entry points in its pyproject.toml."""
