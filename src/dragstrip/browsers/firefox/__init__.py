"""Firefox, driven by WebDriver BiDi."""
