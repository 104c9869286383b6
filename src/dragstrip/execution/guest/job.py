"""Files through which a guest and its owner exchange jobs and results, in a folder that both see.

The owner writes the job before the guest starts. The guest writes each result when it is made, and
finally how the job ended. A file gets its name only when it is complete.
"""

import ctypes
import pickle
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.study import Block, Client, Study

JOB = "job"
INSTALLED = ("programs", "cache")
"""Links to folders of this installation."""
CAPSULE = "capsule"
"""A link to the capsule, if artefacts are kept there."""
ENDED = "ended"
"""The guest's last file: the exception that ended it, or None."""
ALIVE = "alive"
"""File with the seconds of virtual time so far. It keeps changing while virtual time passes."""


class BlockJob(Struct, frozen=True, kw_only=True):
    """A job that makes an attempt at blocks. The job's results are the visits, block by block, in
    each block's order."""

    study: Study
    """The study, with only the pages that the blocks need."""
    blocks: tuple[Block, ...]
    attempt: int
    artefacts: bool
    """Whether to keep artefacts in the capsule."""

    @property
    def slowdown(self) -> float:
        """Return how many times slower the client is. The client is slowed down by the prices of
        computing, and not by the browser."""
        return self.study.client.cpu_slowdown

    @property
    def about(self) -> str:
        if len(self.blocks) == 1:
            return f"block {self.blocks[0].id}"
        return f"one of the blocks {self.blocks[0].id} to {self.blocks[-1].id}"


class CheckJob(Struct, frozen=True, kw_only=True):
    """A job that compares a page with its recording. Its results are those of
    `dragstrip.verdict.page_check`."""

    page: Page
    client: Client
    browser: str
    slowdown: float = 1.0

    @property
    def about(self) -> str:
        return self.page.name


Job = BlockJob | CheckJob


def result_file(number: int) -> str:
    return f"result-{number}"


def write(folder: Path, name: str, value: Any) -> None:
    """Write `value` to a file that appears complete or not at all."""
    unfinished = folder / f"{name}.unfinished"
    with unfinished.open("wb") as file:
        pickle.dump(value, file)
        file.flush()
        hand_over(file.fileno())
    unfinished.rename(folder / name)


def read(folder: Path, name: str) -> Any:
    """Return the value that `write` wrote. Raises `FileNotFoundError`."""
    with (folder / name).open("rb") as file:
        return pickle.load(file)


def hand_over(file: int) -> None:
    """Pass what was written to an open file from the guest's memory to its owner's.

    `os.fsync` would also wait for this machine's disk. No file of a guest outlives the machine.
    """
    offset = ctypes.c_int64(0)
    if _LIBC.sync_file_range(file, offset, offset, _WRITE_AND_WAIT):
        raise OSError(ctypes.get_errno(), "cannot hand over a file")


_LIBC = ctypes.CDLL(None, use_errno=True)
_WRITE_AND_WAIT = 7
"""See sync_file_range(2): with a length of 0, up to the end of the file."""
