"""Comparisons of stacks, from the visits of one capsule or of two."""
