"""Serves, on this machine, a live page of a result folder while it fills."""
