"""Turns a sampled study into a map."""
