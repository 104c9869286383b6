"""Figures of the papers, redrawn from our loads: one kind a file, each a pure function."""
