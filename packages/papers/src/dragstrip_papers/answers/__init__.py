"""A paper's claims with our answers, and what must be said beside them."""
