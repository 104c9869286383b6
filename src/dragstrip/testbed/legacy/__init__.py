"""Installs old browsers and servers, and finds installed ones."""
