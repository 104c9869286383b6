"""A paper's claims with our answers, and the notes that belong to them."""
