"""Chromium 53, the last version that speaks SPDY."""
