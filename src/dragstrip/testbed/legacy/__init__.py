"""Browsers and servers of other years: what they are, where they come from, where they are kept."""
