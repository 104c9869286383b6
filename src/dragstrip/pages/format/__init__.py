"""The page file: what it holds, how it is written and loaded."""
