"""A page that follows a result folder while it fills, served on this machine."""
