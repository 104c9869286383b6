"""What passes between a guest and its owner, as files in a folder that both see.

The owner writes the job before the guest starts; the guest writes results as they are made, and how
it ended. A file appears under its name when all of it is there.
"""

import os
import pickle
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.study import Block, Client, Study

JOB = "job"
CAPSULE = "capsule"
"""A link to the capsule, if what belongs to a visit or a browser is kept there."""
ENDED = "ended"
"""An exception, or None: what the guest wrote last."""
ALIVE = "alive"
"""Seconds of virtual time so far; changes as long as that goes on."""


class BlockJob(Struct, frozen=True, kw_only=True):
    """An attempt at blocks, all of them. Its results are their visits, block by block, in the order
    of each."""

    study: Study
    """The study, with only the pages that the blocks need."""
    blocks: tuple[Block, ...]
    attempt: int
    artefacts: bool
    """Whether there is a capsule to keep them in."""

    @property
    def about(self) -> str:
        if len(self.blocks) == 1:
            return f"block {self.blocks[0].id}"
        return f"one of the blocks {self.blocks[0].id} to {self.blocks[-1].id}"


class CheckJob(Struct, frozen=True, kw_only=True):
    """A page held against its recording, with results of `dragstrip.verdict.page_check`."""

    page: Page
    client: Client
    browser: str

    @property
    def about(self) -> str:
        return self.page.name


Job = BlockJob | CheckJob


def result_file(number: int) -> str:
    return f"result-{number}"


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
