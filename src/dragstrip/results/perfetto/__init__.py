"""Visits as traces that Perfetto opens."""
