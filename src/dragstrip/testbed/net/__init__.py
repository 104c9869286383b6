"""Namespaces, the wires between them, and the emulated link."""
