"""Chooses which cells of a paper are run, and how they fit into a time limit."""
