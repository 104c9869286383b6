"""A share of a study, for a batch system that starts the same command many times."""

import re
from collections.abc import Callable

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, Study
from dragstrip.schedule.batch import batches


class Shard(Struct, frozen=True):
    """The shard with this number, of a total of `of`. Shards of a study share no block, and
    together they cover the study."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def blocks(self, study: Study) -> Callable[[Block], bool]:
        """Return a function that says whether a block belongs to this shard.

        If a study stops cells early, each cell goes to one shard, because all blocks of a cell
        decide when it stops. Other studies distribute batches; in real time a batch is one block.
        """
        if study.stopping or study.slow:
            cells = set(study.cells()[self.number - 1 :: self.of])
            return lambda block: block.cell in cells
        mine = {b.id for batch in batches(study)[self.number - 1 :: self.of] for b in batch}
        return lambda block: block.id in mine


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """Parse a shard: ``3/16`` is the third of sixteen. Raises `InputError`."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found:
        raise InputError(
            f"--shard {text!r}: give the shard's number and the number of shards, like 3/16"
        )
    number, of = map(int, found.groups())
    if not 1 <= number <= of:
        raise InputError(f"--shard {text}: the shards are 1/{of} to {of}/{of}")
    return Shard(number, of)
