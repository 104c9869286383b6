"""Tests whether several groups differ."""
