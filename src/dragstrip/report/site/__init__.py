"""The HTML: the report of a capsule and the page of an audit."""
