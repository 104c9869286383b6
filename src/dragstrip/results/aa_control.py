"""The A/A control of a machine: short visits of one stack under two names, before its first block.

Both names stand for the same stack, so the machine causes any difference that chance does not
explain: something on the machine delays the answers of one name. Each round is judged by itself. A
machine passes with the first round that shows no difference. A machine is refused with the second
round that shows a difference in the same direction. By chance a refusal happens to about one
machine in 20,000: a 99 % interval misses 1 in one round of a hundred, and again in the same
direction in one of two hundred.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from msgspec import Struct, structs

from dragstrip.stats.block_ratio import BlockRatio, block_ratio

BLOCKS = 8
"""Blocks of a round: the fewest for a 99 % interval. Each block has one visit under both names."""
ROUNDS = 3
_LEVEL = 0.99
_AGAIN = 2
"""Number of rounds that must show the same difference for the machine to be refused."""


class Round(Struct, frozen=True, kw_only=True):
    """Page load times of the valid blocks, in ms and in the order they were made."""

    a_ms: tuple[float, ...]
    """Load times of the stack under its own name."""
    b_ms: tuple[float, ...]
    """Load times of the stack under the other name."""
    visits: int
    """Visits, including those of invalid blocks."""
    invalid: Mapping[str, int] = {}
    """Number of invalid visits by reason."""
    took_s: float

    @property
    def _compared(self) -> BlockRatio:
        return block_ratio(np.array(self.a_ms), np.array(self.b_ms))

    @property
    def ratio(self) -> float:
        """The median of b / a over blocks."""
        return self._compared.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 99 % interval of b / a; None with too few valid blocks."""
        return self._compared.interval(_LEVEL) if self.a_ms else None

    @property
    def shown(self) -> int:
        """1 if the other name is shown to be slower, -1 if faster, 0 if neither."""
        found = self.interval
        return (found[0] > 1) - (found[1] < 1) if found else 0

    @property
    def mostly_invalid(self) -> bool:
        return 2 * len(self.a_ms) < BLOCKS


class AAControl(Struct, frozen=True, kw_only=True):
    stack: str
    page: str
    network: str
    rounds: tuple[Round, ...]

    @property
    def passed(self) -> bool:
        last = self.rounds[-1]
        return last.interval is not None and not last.shown

    @property
    def refusal(self) -> str:
        """Why the machine may make no visits; empty if it passed or needs another round."""
        last = self.rounds[-1]
        if last.mostly_invalid:
            return f"its A/A control is mostly invalid: {self._reasons()}"
        shown = Counter(one.shown for one in self.rounds)
        for side, word in ((1, "slower"), (-1, "faster")):
            if shown[side] >= _AGAIN:
                return (
                    f"its A/A control differs: {self.stack} is {word} under its second name, "
                    f"{' and '.join(_percent(one) for one in self.rounds if one.shown == side)}"
                )
        if not self.passed and len(self.rounds) >= ROUNDS:
            return f"its A/A control showed nothing in {ROUNDS} rounds: {self._reasons()}"
        return ""

    def after(self, earlier: "AAControl | None") -> "AAControl":
        """Return the control with the rounds of `earlier` before its own rounds."""
        before = earlier.rounds if earlier else ()
        return structs.replace(self, rounds=(*before, *self.rounds))

    def words(self) -> str:
        """Say the result in words: ``h2 under two names: 0.997 (0.981 to 1.012), 8 blocks, 16
        visits in 14 s``."""
        last = self.rounds[-1]
        visits = sum(one.visits for one in self.rounds)
        took = sum(one.took_s for one in self.rounds)
        found = f"{last.ratio:.3f}" if last.a_ms else "no valid block"
        if last.interval:
            found += " ({:.3f} to {:.3f})".format(*last.interval)
        return (
            f"{self.stack} under two names: {found}, {len(last.a_ms)} blocks, "
            f"{visits} visits in {took:.0f} s"
        )

    def _reasons(self) -> str:
        last = self.rounds[-1]
        named = ", ".join(f"{code} {n}" for code, n in last.invalid.items())
        return f"{len(last.a_ms)} of {BLOCKS} blocks valid{f' ({named})' if named else ''}"


def _percent(one: Round) -> str:
    low, high = one.interval or (1.0, 1.0)
    sides = sorted((abs(low - 1), abs(high - 1)))
    return f"{100 * abs(one.ratio - 1):.1f} % ({100 * sides[0]:.1f} to {100 * sides[1]:.1f})"
