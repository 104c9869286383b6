"""Redraws figures of the papers from our loads. Each file holds one kind of figure, as pure
functions."""
