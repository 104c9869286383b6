"""Errors that other input fixes; the command line exits with code 2."""


class InputError(ValueError):
    """One sentence that names the file, the place in it and what to do."""
