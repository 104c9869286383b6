"""Measures a link's performance before visits rely on it."""
