"""Finds one answer for each claim from all its runs: in browsers, with old protocols, predicted."""
