"""A share of a study, for a batch system that starts the same command many times."""

import re
from collections.abc import Callable

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, Study
from dragstrip.schedule.batch import batches


class Shard(Struct, frozen=True):
    """The `number`-th of `of` shares. The shares of a study have no block in common, and together
    they have every one."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def blocks(self, study: Study) -> Callable[[Block], bool]:
        """Whether a block belongs to this share. Where cells end early they stay whole, since that
        is decided from all their blocks; else batches are dealt out one by one, which in real time
        are single blocks."""
        if study.stopping or study.slow:
            cells = set(study.cells()[self.number - 1 :: self.of])
            return lambda block: block.cell in cells
        mine = {b.id for batch in batches(study)[self.number - 1 :: self.of] for b in batch}
        return lambda block: block.id in mine


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """``3/16`` is the third of sixteen. Raises `InputError`."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found:
        raise InputError(f"--shard {text!r}: give a number and how many there are, like 3/16")
    number, of = map(int, found.groups())
    if not 1 <= number <= of:
        raise InputError(f"--shard {text}: shards of {of} go from 1/{of} to {of}/{of}")
    return Shard(number, of)
