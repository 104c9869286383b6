"""The version of this program."""

from importlib.metadata import version

__version__ = version("dragstrip")
