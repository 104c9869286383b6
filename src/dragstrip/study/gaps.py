"""Reads measured differences between servers, so that these are not mistaken for differences
between protocols.

`server_gaps.json` beside this file is written by bench/protocols/legacy_parity.py: page load times
over one server divided by those over another, in the same browser and protocol.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct, structs

from dragstrip.model.browsers import find_browser
from dragstrip.model.configuration import same_program
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Protocol, Stack

FILE = "server_gaps.json"


class Gap(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    server: str
    """The server's name; `against` names the other server."""
    against: str
    browser: str
    protocol: Protocol
    load: str
    """Page and network of the measurement, in words."""
    ratio: float
    """Ratio of medians, `server` divided by `against`. Above 1, `server` is slower."""
    low: float | None
    high: float | None
    """Upper end of the 95 % interval of `ratio`; None with fewer than five blocks."""
    blocks: int
    measured: str
    """Date of the measurement (ISO 8601)."""

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
        return figures(self.ratio, self.low, self.high)

    def words(self) -> str:
        return (
            f"{self.server} takes {self.figures()} times as long as {self.against} "
            f"({self.protocol} in {find_browser(self.browser).what}, {self.load}, "
            f"{self.blocks} blocks, {self.measured})"
        )


def figures(ratio: float, low: float | None, high: float | None) -> str:
    """Write the ratio as text, with its interval if there is one."""
    return f"{ratio:.3f} ({low:.3f} to {high:.3f})" if low and high else f"{ratio:.3f}"


@cache
def gaps() -> tuple[Gap, ...]:
    """Return all measured gaps."""
    text = resources.files("dragstrip.study").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Gap, ...])


def servers(stacks: Sequence[Stack], known: Iterable[Gap] | None = None) -> str:
    """Return a sentence that says which server serves which stack, and how each server compares
    with the first stack's. The sentence is empty if one server serves all."""
    served: dict[str, list[Stack]] = {}
    for stack in stacks:
        served.setdefault(stack.server, []).append(stack)
    if len(served) < 2:
        return ""
    said = (f"{', '.join(s.name for s in mine)}: {server}" for server, mine in served.items())
    sentences = _sentences(served, tuple(gaps() if known is None else known))
    return f"Servers: {'; '.join(said)}. Over one protocol, {'; '.join(sentences)}."


OWN_PARITY = "0.841 (0.811 to 0.872)"
"""Request to last byte of 1 MB over a round trip of 10 ms without a rate limit, QUIC divided by
TCP+, both from our origin, 31 blocks: `uv run python bench/parity 31` (docs/reference/parity.md).
"""


def own_parity(stacks: Sequence[Stack]) -> Iterator[str]:
    """Yield a sentence on the gap between HTTP/3 and TCP in our own origin without a rate limit, if
    the stacks use both."""
    ours = [s for s in stacks if s.server == OURS]
    if len({s.protocol == "h3" for s in ours}) == 2:
        yield (
            f"without a rate limit our origin sends 1 MB over QUIC in {OWN_PARITY} of TCP's time: "
            "so much of a difference may be the server's"
        )


def _sentences(served: dict[str, list[Stack]], known: tuple[Gap, ...]) -> Iterator[str]:
    either = (*known, *(g.reversed() for g in known))
    first, *others = served

    def nearest(server: str, against: str) -> Gap | None:
        """Return the gap between these servers, preferably in a browser that works with both; None
        if it was not measured."""
        browsers = {s.browser for name in {server, against} & {*served} for s in served[name]}
        between = [g for g in either if (g.server, g.against) == (server, against)]
        return min(between, key=lambda g: g.browser not in browsers, default=None)

    for other in others:
        if same_program(served[other][0].serving, served[first][0].serving):
            yield f"{other} and {first} are one program in two configurations"
            continue
        if gap := nearest(other, first):
            yield gap.words()
            continue
        thirds = dict.fromkeys(g.against for g in either if g.server == other)
        ways = ((nearest(other, third), nearest(first, third)) for third in thirds)
        if way := next(((a, b) for a, b in ways if a and b), None):
            yield " and ".join(gap.words() for gap in way)
        else:
            yield f"the gap between {other} and {first} is not measured"
