"""dragstrip races web protocol stacks; see README.md and docs/.

>>> import dragstrip
>>> visits = dragstrip.open("capsules/first").visits()   # a Polars frame
"""

from pathlib import Path
from typing import TYPE_CHECKING

from dragstrip.version import __version__

if TYPE_CHECKING:
    from dragstrip.results.frames import Frames

__all__ = ["__version__", "open"]


def open(capsule: str | Path) -> "Frames":
    """A capsule's tables as Polars frames, see `dragstrip.results.frames.Frames`.

    Raises `dragstrip.model.errors.InputError` if the folder holds no capsule.
    """
    from dragstrip.results.frames import Frames  # Polars takes a moment to import

    return Frames(Path(capsule))
