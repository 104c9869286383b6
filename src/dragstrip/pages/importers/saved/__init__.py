"""Imports pages and sites saved as files: HTML with its folder, MHTML, mirrors."""
