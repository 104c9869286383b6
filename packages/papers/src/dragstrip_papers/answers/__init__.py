"""Answers a paper's claims, with the notes that belong to the answers."""
