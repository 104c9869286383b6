"""Commands about pages."""
