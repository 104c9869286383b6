"""Steps: moments of a load at which its link becomes another one (docs/howto/moving-links.md)."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct, structs

from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.effects import STAGES, Direction, Policer, Side
from dragstrip.model.units import plain

Rebound = Literal["port", "address"]
_INSTEAD: tuple[tuple[str, ...], ...] = (
    ("queue_ms", "queue_bytes", "queue_packets"),
    ("loss", "gilbert_elliott"),
    ("jitter_ms", "jitter_period_ms"),
)
"""Fields that a step may name alone: the others of a group then have their defaults."""
_DEFAULTS: dict[str, Any] = {f.name: f.default for f in structs.fields(Direction)}


class LinkChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a step changes in a direction. Fields that are left out stay as they were. A depth of
    the queue replaces another, and so do `loss` and `gilbert_elliott`."""

    rate_mbps: float | None = None
    delay_ms: float | None = None
    loss: float | None = None
    queue_ms: float | None = None
    queue_bytes: int | None = None
    queue_packets: int | None = None
    jitter_ms: float | None = None
    jitter_period_ms: float | None = None
    gilbert_elliott: GilbertElliott | None = None
    duplicate: float | None = None
    reorder: float | None = None
    mtu: int | None = None
    policer: Policer | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The fields that change."""
        return {name: value for name, value in structs.asdict(self).items() if value is not None}

    def applied(self, direction: Direction) -> Direction:
        """Return the direction after the change. Raises `ValueError` if it makes no sense."""
        values = self.values
        for group in _INSTEAD:
            if values.keys() & group:
                values = {name: _DEFAULTS[name] for name in group} | values
        return structs.replace(direction, **values)

    def describe(self) -> str:
        said = (_said(name, value) for name, value in self.values.items())
        return ", ".join(said)


class LinkStep(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What happens to a link at one moment. Everything stays so until another step changes it."""

    t_ms: float
    """When, in ms after the start of the navigation. Study files say `t = "2 s"`."""
    down: LinkChange | None = None
    """What changes in this direction."""
    up: LinkChange | None = None
    outage_ms: float | None = None
    """The link carries nothing for so long. Packets wait in the queue, and those for which it has
    no room are dropped. What has left the queue arrives."""
    outage: Literal["both", "down", "up"] = "both"
    """The direction that the outage is of."""
    queue: Literal["kept", "dropped"] = "kept"
    """Whether packets that wait for the line wait for the new one (a handover that forwards them),
    or are dropped: in the directions that the step changes, or in both if it changes none."""
    rebind: Rebound | None = None
    """A NAT at the client's end loses its mappings. From then on the client's UDP flows have other
    ports, or another address, for the origin. What comes to the old ones is dropped."""
    tcp: Literal["kept", "dropped"] = "kept"
    """Whether that NAT keeps the mappings of TCP connections, or loses them too: then it drops all
    packets of connections that were open."""

    def __post_init__(self) -> None:
        if not self.t_ms > 0:
            raise ValueError(
                f"t is {plain(self.t_ms)} ms: give more than 0; what holds from the start stands "
                "in down and up"
            )
        if self.outage_ms is not None and not self.outage_ms > 0:
            raise ValueError("outage_ms must be above zero, or left out for no outage")
        if self.outage != "both" and self.outage_ms is None:
            raise ValueError("outage is of outage_ms: give outage_ms too")
        if self.tcp != "kept" and self.rebind is None:
            raise ValueError('tcp is of rebind: give rebind = "port" or "address" too')
        for side in STAGES:
            change = self.change(side)
            if change is not None and not change.values:
                raise ValueError(f"{side} changes nothing: name a field, or leave {side} out")
        nothing = not (self.down or self.up or self.outage_ms or self.rebind)
        if nothing and self.queue == "kept":
            raise ValueError("changes nothing: give down, up, outage_ms, queue or rebind")

    def change(self, side: Side) -> LinkChange | None:
        return self.down if side == "down" else self.up

    @property
    def changed(self) -> frozenset[Side]:
        """The directions that the step changes; both if it changes none."""
        named = frozenset(side for side in STAGES if self.change(side))
        return named or frozenset(STAGES)

    @property
    def out(self) -> frozenset[Side]:
        """The directions that the step's outage stops."""
        if self.outage_ms is None:
            return frozenset()
        return frozenset(side for side in STAGES if self.outage in ("both", side))

    @property
    def end_ms(self) -> float:
        """When the step's outage ends; the step's own time without an outage."""
        return self.t_ms + (self.outage_ms or 0.0)

    def describe(self) -> str:
        """Describe the step in words: ``at 2 s: down 1 Mbit/s``."""
        said = []
        for side in STAGES:
            change = self.change(side)
            if change:
                said.append(f"{side} {change.describe()}")
        if self.queue == "dropped":
            which = "queues" if len(self.changed) > 1 else f"{min(self.changed)} queue"
            said.append(f"{which} dropped")
        if self.outage_ms:
            of = "" if self.outage == "both" else f" {self.outage}"
            said.append(f"outage{of} of {plain(self.outage_ms)} ms")
        if self.rebind:
            lost = ", TCP's too" if self.tcp == "dropped" else ""
            said.append(f"the NAT gives UDP another {self.rebind}{lost}")
        return f"at {plain(self.t_ms / 1000)} s: {', '.join(said)}"


class LinkPhase(Struct, frozen=True, kw_only=True):
    """A link between two of its changes."""

    start_ms: float
    """When it begins, in ms after the start of the navigation."""
    down: Direction
    up: Direction
    out: frozenset[Side] = frozenset()
    """Directions that carry nothing."""
    drops: frozenset[Side] = frozenset()
    """Directions whose waiting packets are dropped when it begins."""
    rebind: Rebound | None = None
    """What the NAT changes when it begins."""
    drops_tcp: bool = False
    step: int | None = None
    """The step that begins it; None for the start of the load and for the end of an outage."""

    def direction(self, side: Side) -> Direction:
        return self.down if side == "down" else self.up


def phases(down: Direction, up: Direction, steps: Iterable[LinkStep]) -> Iterator[LinkPhase]:
    """Yield what a link is, one phase after the other.

    Raises `ValueError` naming the step that is out of order, begins in an earlier one's outage, or
    makes a direction that makes no sense.
    """
    now = LinkPhase(start_ms=0.0, down=down, up=up)
    outage: LinkStep | None = None
    for place, step in enumerate(steps):
        if now.step is not None and step.t_ms <= now.start_ms:
            raise ValueError(
                f"at[{place}]: begins at {plain(step.t_ms)} ms, not after at[{now.step}] "
                f"({plain(now.start_ms)} ms): give steps in order of time, one for each time"
            )
        if outage and step.t_ms < outage.end_ms:
            raise ValueError(
                f"at[{place}]: begins at {plain(step.t_ms)} ms, in the outage of at[{now.step}], "
                f"which ends at {plain(outage.end_ms)} ms: begin it later, or shorten the outage"
            )
        yield now
        if outage and step.t_ms > outage.end_ms:
            yield _after(now, outage)
        sides = {}
        for side in STAGES:
            change = step.change(side)
            direction = now.direction(side)
            try:
                sides[side] = change.applied(direction) if change else direction
            except ValueError as error:
                raise ValueError(f"at[{place}].{side}: {error}") from None
        now = LinkPhase(
            start_ms=step.t_ms,
            down=sides["down"],
            up=sides["up"],
            out=step.out,
            drops=step.changed if step.queue == "dropped" else frozenset(),
            rebind=step.rebind,
            drops_tcp=step.tcp == "dropped",
            step=place,
        )
        outage = step if step.out else None
    yield now
    if outage:
        yield _after(now, outage)


def _after(now: LinkPhase, outage: LinkStep) -> LinkPhase:
    return LinkPhase(start_ms=outage.end_ms, down=now.down, up=now.up)


CANNOT_CHANGE = frozenset(_DEFAULTS) - {f.name for f in structs.fields(LinkChange)}
"""Fields of a direction that hold for a whole load."""

_UNITS = {"mbps": "Mbit/s", "ms": "ms", "bytes": "B", "packets": "packets"}
_SHARES = ("loss", "duplicate", "reorder")


def _said(name: str, value: Any) -> str:
    if isinstance(value, Policer):
        return f"policer {plain(value.rate_mbps)} Mbit/s, burst {value.burst_bytes} B"
    if isinstance(value, GilbertElliott):
        return f"loss in bursts ({value.describe()})"
    if name == "mtu":
        return f"MTU {value} B"
    if name in _SHARES:
        return f"{name} {plain(value * 100)} %"
    what, _, unit = name.rpartition("_")
    number = f"{plain(value)} {_UNITS[unit]}"
    return number if what == "rate" else f"{what.replace('_', ' ')} {number}"
