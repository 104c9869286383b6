"""The load generator, driven like a browser."""
