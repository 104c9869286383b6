"""Commands that make visits."""
