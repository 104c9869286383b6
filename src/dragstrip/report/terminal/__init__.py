"""Results as shown on the terminal."""
