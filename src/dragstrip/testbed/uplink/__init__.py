"""The way from the far end of a link into the caller's network."""
