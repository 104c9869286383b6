"""Results as the terminal shows them."""
