"""Figures of the papers, redrawn from our loads. Each file holds one kind, as pure functions."""
