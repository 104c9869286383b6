"""Measures what a link does before visits rely on it."""
