"""What a server costs by itself, so that it is not mistaken for a protocol.

`server_gaps.json` beside this file is written by bench/legacy_parity.py: page load times over one
server divided by those over another, in the same browser and protocol.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct, structs

from dragstrip.model.browsers import GENERATION, Browser
from dragstrip.model.servers import ONE_TONGUE, Server
from dragstrip.model.stack import Protocol, Stack

FILE = "server_gaps.json"


class Gap(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    server: Server
    against: Server
    browser: Browser
    protocol: Protocol
    load: str
    """Page and network, in words."""
    ratio: float
    """Of medians, `server` to `against`: above 1, `server` is slower."""
    low: float | None
    high: float | None
    """95 % interval of `ratio`; None below six blocks."""
    blocks: int
    measured: str
    """Date (ISO 8601)."""

    def reversed(self) -> "Gap":
        low, high = (1 / end if end else None for end in (self.high, self.low))
        return structs.replace(
            self,
            server=self.against,
            against=self.server,
            ratio=1 / self.ratio,
            low=low,
            high=high,
        )

    def figures(self) -> str:
        """The ratio, with its interval if it has one."""
        interval = f" ({self.low:.3f} to {self.high:.3f})" if self.low and self.high else ""
        return f"{self.ratio:.3f}{interval}"

    def words(self) -> str:
        return (
            f"{self.server} takes {self.figures()} times as long as {self.against} "
            f"({self.protocol} in {GENERATION[self.browser]}, {self.load}, {self.blocks} blocks, "
            f"{self.measured})"
        )


@cache
def gaps() -> tuple[Gap, ...]:
    """All that were measured."""
    text = resources.files("dragstrip.study").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Gap, ...])


def servers(stacks: Sequence[Stack], known: Iterable[Gap] | None = None) -> str:
    """Who serves which stack, and the gap of each server to that of the first stack; empty if one
    server serves them all."""
    served: dict[Server, list[Stack]] = {}
    for stack in stacks:
        served.setdefault(stack.server, []).append(stack)
    if len(served) < 2:
        return ""
    said = (f"{', '.join(s.name for s in mine)}: {server}" for server, mine in served.items())
    found = _sentences(served, tuple(gaps() if known is None else known))
    return f"Servers: {'; '.join(said)}. Over one protocol, {'; '.join(found)}."


def _sentences(served: dict[Server, list[Stack]], known: tuple[Gap, ...]) -> Iterator[str]:
    first, *others = served
    for other in others:
        browsers = {s.browser for s in (*served[first], *served[other])}
        both = [
            g
            for g in (*known, *(g.reversed() for g in known))
            if (g.server, g.against) == (other, first)
        ]
        if both:
            yield min(both, key=lambda g: g.browser not in browsers).words()
        else:
            alone = next((s for s in (other, first) if s in ONE_TONGUE), None)
            why = f": {alone} speaks a protocol of its own" if alone else ""
            yield f"the gap between {other} and {first} is not measured{why}"
