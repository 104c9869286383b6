"""Browsers and servers of other years: their sources, and where they are kept."""
