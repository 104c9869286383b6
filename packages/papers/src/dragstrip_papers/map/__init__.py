"""A sampled study as a map."""
