"""Chromium 53, the last that speaks SPDY."""
