"""The page file: its content, and how to write and load it."""
