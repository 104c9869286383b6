"""What passes between a guest and its owner, as files in a folder that both see.

The owner writes the job before the guest starts; the guest writes visits as they are made, and how
it ended. A file appears under its name when all of it is there.
"""

import os
import pickle
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragstrip.model.study import Block, Study

JOB = "job"
CAPSULE = "capsule"
"""A link to the capsule, if what belongs to a visit or a browser is kept there."""
ENDED = "ended"
"""An exception, or None: what the guest wrote last."""
ALIVE = "alive"
"""Changes as long as virtual time goes on."""


class Job(Struct, frozen=True, kw_only=True):
    """An attempt at a block, all of it."""

    study: Study
    block: Block
    attempt: int
    artefacts: bool
    """Whether there is a capsule to keep them in."""


def visit_file(position: int) -> str:
    return f"visit-{position}"


def write(folder: Path, name: str, value: Any) -> None:
    """Make `value` appear whole, or not at all."""
    unfinished = folder / f"{name}.unfinished"
    with unfinished.open("wb") as file:
        pickle.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / name)


def read(folder: Path, name: str) -> Any:
    """What `write` wrote. Raises `FileNotFoundError`."""
    with (folder / name).open("rb") as file:
        return pickle.load(file)
