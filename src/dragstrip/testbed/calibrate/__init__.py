"""Measures what a link does before anybody relies on it."""
