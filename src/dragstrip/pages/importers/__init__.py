"""Imports recordings of other programs as pages."""
