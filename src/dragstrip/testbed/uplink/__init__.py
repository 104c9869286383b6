"""Connects the far end of a link to the caller's network."""
