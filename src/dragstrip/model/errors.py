"""Errors a person can mend by giving other input; the command line ends with code 2."""


class InputError(ValueError):
    """One sentence that names the file, the place in it and the mend."""
