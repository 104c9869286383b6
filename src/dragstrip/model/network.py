"""A network: the settings of the emulated link, per direction."""

from math import sqrt
from typing import Literal, Self

from msgspec import Struct, structs

from dragstrip.model.background import Background
from dragstrip.model.effects import STAGES, Direction, Side, Stage
from dragstrip.model.family import LEAST_MTU, Family
from dragstrip.model.names import AT_ONCE, Dns, Transport
from dragstrip.model.steps import LinkPhase, LinkStep, phases
from dragstrip.model.units import (
    UnitError,
    parse_duration_ms,
    parse_rate_mbps,
    parse_share,
    plain,
)

ETHERNET_MTU = 1500
SHORT_QUEUE_MS = 200
"""Queue depth, in ms, of a network given as ``100mbit/50ms``, as in most presets."""


STEP_SLACK_MS = 50.0
"""More than a step may be off before the verdict refuses its visit, in ms."""


def _crossed_ms(phases: tuple[LinkPhase, ...], side: Side, start_ms: float, size: float) -> float:
    """Do what `Network.crossed_ms` says. Around each step the line has the better of both rates."""
    if any(phase.direction(side).trace for phase in phases):
        return start_ms + phases[0].direction(side).least_ms(size)
    edges = sorted(
        {
            max(0.0, phase.start_ms + shift)
            for phase in phases[1:]
            for shift in (-STEP_SLACK_MS, STEP_SLACK_MS)
        }
    )
    at, left = start_ms, size
    for end in (*(edge for edge in edges if edge > start_ms), float("inf")):
        per_ms = _best_per_ms(phases, side, at)
        if per_ms * (end - at) >= left or per_ms == float("inf"):
            return at + left / per_ms if per_ms != float("inf") else at
        left -= per_ms * (end - at)
        at = end
    return at


def _best_per_ms(phases: tuple[LinkPhase, ...], side: Side, at_ms: float) -> float:
    """Return the most bytes per ms that the line carries at a time, or so near to it that a step
    could be off by as much."""
    best = 0.0
    for phase, following in zip(phases, (*phases[1:], None), strict=True):
        begins = phase.start_ms - STEP_SLACK_MS <= at_ms or phase is phases[0]
        if begins and (following is None or at_ms < following.start_ms + STEP_SLACK_MS):
            rate = phase.direction(side).rate_mbps
            if side not in phase.out:
                best = max(best, float("inf") if rate is None else rate * 125)
    return best


def per_direction(two_way_loss: float) -> float:
    """Return the loss l per direction that gives a two-way loss p, of packets or their answers: (1
    - l)^2 = 1 - p (wolsing2019 section 3)."""
    if not 0 <= two_way_loss <= 1:
        raise ValueError("two_way_loss must be a share between 0 and 1")
    return 1 - sqrt(1 - two_way_loss)


def parse_loss(text: str) -> float:
    """Parse a loss per direction: ``"1.7%"``, or for both directions together ``"3.3%
    two-way"``."""
    share, both, _ = text.partition("two-way")
    return per_direction(parse_share(share)) if both else parse_share(text)


class Network(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A named link between browser and origin.

    The order of the stages is part of the network. Random loss sits at the client's end, as in
    wolsing2019 section 3: downstream a packet passes queue and rate, then the delay, then loss;
    upstream it meets loss first, then queue and rate, then the delay. `Direction.stages` changes
    that.
    """

    name: str
    down: Direction
    up: Direction
    source: str = "given on the command line"
    accounting: Literal["l3", "l2"] = "l3"
    """What counts as a packet's length for rate and queue: the IP packet (`l3`), or the IP packet
    with the Ethernet header's 14 bytes (`l2`, as in netem)."""
    background: tuple[Background, ...] = ()
    """Other traffic on the same link during a visit."""
    family: Family = 4
    """IPv4 or IPv6: every host of a recorded page has addresses of this family alone. An IPv6
    packet's header is 20 bytes longer, so a full packet carries 20 bytes less."""
    at: tuple[LinkStep, ...] = ()
    """What the link becomes during a load, in order of time; `down` and `up` are its start."""
    dns: Dns | None = None
    """The resolver that client and page share, and the path to it. None: names resolve at once."""

    def __post_init__(self) -> None:
        if self.down.grant:
            raise ValueError("down.grant: only the client asks for grants: give it in up")
        least = LEAST_MTU[self.family]
        for phase in self.phases:  # raises for steps that make no sense
            for side in STAGES:
                mtu = phase.direction(side).mtu
                if self.family == 6 and mtu is not None and mtu < least:
                    raise ValueError(
                        f"{side}.mtu is {mtu}, and every link carries IPv6 packets of {least} "
                        f"bytes (RFC 8200 section 5): give at least {least}, or family = 4"
                    )

    @property
    def phases(self) -> tuple[LinkPhase, ...]:
        """What the link is, one phase after the other; a single one without steps."""
        if not self.at:
            return (LinkPhase(start_ms=0.0, down=self.down, up=self.up),)
        return tuple(phases(self.down, self.up, self.at))

    @property
    def resolver(self) -> Dns | None:
        """The resolver, if names take time."""
        return self.dns if self.dns and self.dns.transport != "none" else None

    @property
    def broken_ipv6(self) -> bool:
        """Whether names have IPv6 addresses at which nothing answers."""
        return bool(self.resolver and self.resolver.broken_ipv6)

    @property
    def ask(self) -> Transport:
        """How the client asks for names."""
        return self.dns.transport if self.dns else "none"

    @property
    def chance(self) -> bool:
        """Whether a packet's fate is random, see `Direction.chance`, or that of a DNS query."""
        lossy = bool(self.resolver and self.resolver.loss)
        return lossy or any(phase.down.chance or phase.up.chance for phase in self.phases)

    def direction(self, side: Side) -> Direction:
        return self.down if side == "down" else self.up

    def stages(self, side: Side) -> tuple[Stage, ...]:
        """Return the order in which a packet passes the stages."""
        own = self.direction(side).stages
        return STAGES[side] if own is None else own

    @property
    def rtt_ms(self) -> float:
        """Usual round trip in ms without queueing or serialisation, at the start of a load."""
        return self.down.usual_delay_ms + self.up.usual_delay_ms

    @property
    def longest_rtt_ms(self) -> float:
        """`rtt_ms` where it is longest, with the longest outage."""
        phases, outages = self.phases, (step.outage_ms or 0.0 for step in self.at)
        ways = (p.down.long_delay_ms + p.up.long_delay_ms for p in phases)
        return max(ways) + max(outages, default=0.0)

    @property
    def least_rtt_ms(self) -> float:
        """Shortest possible round trip in ms, with the least jitter and with reordering."""
        return self.least_delay_ms("down") + self.least_delay_ms("up")

    def least_delay_ms(self, side: Side) -> float:
        """Return the shortest delay of a packet in ms, in whatever phase."""
        return min(phase.direction(side).least_delay_ms for phase in self.phases)

    def crossed_ms(self, side: Side, start_ms: float, size: float) -> float:
        """Return the earliest time, in ms after the start of the navigation, by which `size` bytes
        can have crossed the line if none does before `start_ms`. A step may be `STEP_SLACK_MS`
        off."""
        if not self.at:
            return start_ms + self.direction(side).least_ms(size)
        return _crossed_ms(self.phases, side, start_ms, size)

    @property
    def two_way_loss(self) -> float:
        """Probability that a packet or its answer is lost."""
        return 1 - (1 - self.down.mean_loss) * (1 - self.up.mean_loss)

    def describe(self) -> str:
        """Describe the values per direction, with round trip and two-way loss."""

        def rate(direction: Direction) -> str:
            if direction.trace:
                return direction.trace.describe()
            limit = direction.rate_mbps
            return "unlimited" if limit is None else f"{plain(limit)} Mbit/s"

        def queue(direction: Direction) -> str:
            if direction.queue_bytes:
                return f"{direction.queue_bytes} B"
            if direction.queue_packets:
                return f"{direction.queue_packets} packets"
            return "unbounded" if direction.queue_ms is None else f"{plain(direction.queue_ms)} ms"

        managed = self.down.aqm or self.up.aqm
        more = [f"{side} {said}" for side in STAGES for said in self.direction(side).describe()]
        if self.accounting != "l3":
            more.append(f"bytes are counted at {self.accounting.upper()}")
        more += [f"background load: {load.describe()}" for load in self.background]
        if self.family != 4:
            more.append(f"over IPv{self.family}")
        more += [step.describe() for step in self.at]
        more += [self.resolver.describe()] if self.resolver else []
        return (
            f"down {rate(self.down)}, up {rate(self.up)}; one-way delay "
            f"{plain(self.down.delay_ms)}/{plain(self.up.delay_ms)} ms (round trip "
            f"{plain(self.rtt_ms)} ms); loss {plain(self.down.mean_loss * 100)}/"
            f"{plain(self.up.mean_loss * 100)} % (two-way {plain(self.two_way_loss * 100)} %); "
            f"{'' if managed else 'droptail '}queue {queue(self.down)}/{queue(self.up)}"
            + "".join(f"; {said}" for said in more)
        )

    def describe_with_names(self) -> str:
        """Describe the network, and how names resolve even if no resolver is asked."""
        return self.describe() + ("" if self.resolver else f"; {AT_ONCE}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``down/up/one-way delay/loss/queue``, such as ``10.5mbit/2.8mbit/37ms/0%/200ms``,
        or ``rate/one-way delay``, such as ``100mbit/50ms``. The short form is symmetric, without
        loss, and has a queue of 200 ms.

        Delay, loss and queue apply to each direction. Loss may be given for both directions
        together, such as ``3.3% two-way``. Raises `UnitError`.
        """
        parts = text.split("/")
        if len(parts) == 2:
            rate, way = parts
            parts = [rate, rate, way, "0%", f"{SHORT_QUEUE_MS}ms"]
        if len(parts) != 5:
            raise UnitError(
                f"{text!r} is not a network: give a name (`dragstrip list networks`), rate/delay "
                "like 100mbit/50ms, or down/up/delay/loss/queue like "
                "10.5mbit/2.8mbit/37ms/0%/200ms"
            )
        down, up, delay, loss, queue = parts
        both = Direction(
            delay_ms=parse_duration_ms(delay),
            loss=parse_loss(loss),
            queue_ms=None if queue.strip() == "unbounded" else parse_duration_ms(queue),
        )
        return cls(
            name=text,
            down=structs.replace(both, rate_mbps=parse_rate_mbps(down)),
            up=structs.replace(both, rate_mbps=parse_rate_mbps(up)),
        )
