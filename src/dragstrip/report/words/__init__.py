"""Writes numbers and results in words."""
