"""Commands that read what visits left."""
