"""Makes pages that are not recordings: synthetic pages, stand-ins, and pages for our own tests."""
