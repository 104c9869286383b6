"""Output for CI systems: JUnit XML, annotations and a Markdown summary."""
