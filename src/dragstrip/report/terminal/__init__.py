"""Shows results on the terminal."""
