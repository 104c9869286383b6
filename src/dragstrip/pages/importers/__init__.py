"""Recordings of other programs become pages."""
