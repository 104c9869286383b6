"""What a CI system reads: JUnit's XML, annotations and a Markdown summary."""
