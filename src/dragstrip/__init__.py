"""dragstrip races web protocol stacks; see README.md and docs/."""

from importlib.metadata import version

__version__ = version("dragstrip")
