"""HTML pages: the report of a capsule, and an audit."""
