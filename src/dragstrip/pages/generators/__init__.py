"""Pages that nobody recorded: synthetic, stand-ins, and pages for tests of our own."""
