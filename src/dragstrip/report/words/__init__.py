"""How numbers and findings read in sentences."""
