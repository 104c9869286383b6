"""Commands that read result folders and captures."""
