"""One answer for each claim, out of all runs of it: in browsers, by old protocols, predicted."""
