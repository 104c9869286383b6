"""The effects of a link, each declared once: docs/howto/add-an-effect.md adds one.

An effect is a field of `Direction`, a row of `EFFECTS` and, if the link counts what it does, a
field of `Counters`. Schema, verdict, metrics, report, tables and reference follow from these.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.aqm import Aqm, FqCodel
from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.trace import MOST_DELAY_MS, DelayTrace, Trace
from dragstrip.model.units import plain, require_shares

Side = Literal["down", "up"]
MtuBehaviour = Literal["black-hole", "too-big", "clamp"]
Stage = Literal["hosts", "mtu", "policer", "queue", "delay", "duplicate", "loss"]
"""A place in a direction's order. `queue` is queue and rate; `delay` includes jitter and
reordering."""

STAGES: Mapping[Side, tuple[Stage, ...]] = {
    "down": ("hosts", "mtu", "policer", "queue", "delay", "duplicate", "loss"),
    "up": ("loss", "duplicate", "mtu", "policer", "queue", "delay", "hosts"),
}
"""Default order of the stages. Random loss sits at the client's end, as in wolsing2019 section
3."""

_LEAST_PERIODS = 8
"""Shortest period of in-order jitter, in units of the jitter (crates/link/src/model/wander.rs)."""
_MOST_DEVIATIONS = 100
_LEAST_MTU = 68
"""Smallest MTU of a link: every link carries this many bytes (RFC 791 section 3.2)."""
_DEPTHS = ("queue_ms", "queue_bytes", "queue_packets")


class Policer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rate without a queue: a token bucket (RFC 2697 with one colour)."""

    rate_mbps: float
    """Rate in Mbit/s at which the bucket fills, of bytes as `Network.accounting` counts them."""
    burst_bytes: int
    """Bytes that the bucket holds. It begins full."""

    def __post_init__(self) -> None:
        if self.rate_mbps <= 0 or self.burst_bytes <= 0:
            raise ValueError("rate_mbps and burst_bytes must be above zero")


class Udp(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What UDP meets where a direction begins, and TCP does not, as in networks that block or slow
    QUIC. Queries to a resolver take another path."""

    delay_ms: float = 0.0
    """Further delay of UDP in ms."""
    loss: float = 0.0
    """Share of UDP packets that are lost; 1 blocks UDP."""

    def __post_init__(self) -> None:
        require_shares(self, "loss")
        if self.delay_ms < 0:
            raise ValueError("delay_ms must not be negative")


class Grant(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a client gets to send where the network grants it, as in LTE, 5G and over satellites
    (3GPP TS 36.321 sections 5.4.4 and 5.4.5).

    A client without a grant asks for one at its next opportunity. The grant is for what waits then.
    What comes later is reported with that data, and gets the next grant `delay_ms` after it. No
    grant comes while the way down carries nothing: in an outage, or while its trace's rate is 0.
    """

    request_ms: float
    """Time in ms from one opportunity to ask to the next. The first one depends on the seed."""
    delay_ms: float
    """Time in ms from asking to sending."""
    held_ms: float = 0.0
    """Time in ms for which the network goes on granting after each packet, without being asked.
    Packets then leave at once."""

    def __post_init__(self) -> None:
        if not self.request_ms > 0:
            raise ValueError("request_ms must be above zero: how often the client may ask")
        for name in ("request_ms", "delay_ms", "held_ms"):
            if not 0 <= getattr(self, name) <= MOST_DELAY_MS:
                raise ValueError(f"{name} must lie between 0 and {MOST_DELAY_MS} ms")

    @property
    def least_ms(self) -> float:
        """Least time in ms that every packet waits."""
        return 0.0 if self.held_ms else self.delay_ms

    @property
    def most_ms(self) -> float:
        """Most time in ms that a packet waits, if the way down always carries grants."""
        return max(self.request_ms, self.delay_ms) + self.delay_ms

    @property
    def usual_ms(self) -> float:
        """Mean time in ms that a packet waits whose client has no grant."""
        return self.request_ms / 2 + self.delay_ms


class HostPath(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Delay and loss that one host adds to a direction (cook2017 section III-A shapes single
    servers)."""

    host: str
    delay_ms: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        require_shares(self, "loss")
        if self.delay_ms < 0:
            raise ValueError("delay_ms must not be negative")


class Direction(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One direction of a link: docs/reference/network.md. Stages: see `Network`."""

    rate_mbps: float | None = None
    """Bottleneck rate in Mbit/s, of bytes as `Network.accounting` counts them; None leaves the
    direction unlimited."""
    delay_ms: float = 0.0
    """Propagation delay in ms, one way."""
    loss: float = 0.0
    """Probability that a packet is lost at random (Bernoulli), 0..1."""
    queue_ms: float | None = None
    """Queue depth in ms at the direction's rate: no packet waits longer for its first byte to
    leave. Without any depth the queue is unbounded."""
    queue_bytes: int | None = None
    """Most bytes that may wait in the queue. The packet that crosses the line does not count."""
    queue_packets: int | None = None
    """Most packets that may wait in the queue. The packet that crosses the line does not count."""
    aqm: Aqm | None = None
    """Active queue management; None is droptail. A depth by time becomes bytes at the rate."""
    trace: Trace | None = None
    """Recorded rate to play instead of `rate_mbps`: a file beside the study in a form of
    docs/reference/network.md, or a log. Time 0 of both directions is the first packet of either
    that reaches the link."""
    trace_offset_ms: float = 0.0
    """Time in ms at which to begin in `trace` and `delay_trace`."""
    delay_trace: DelayTrace | None = None
    """Recorded one-way delay to add to `delay_ms`: a file beside the study in a form of
    docs/reference/network.md. Packets keep their order. Time 0 is that of `trace`."""
    jitter_ms: float = 0.0
    """Most by which a delay differs from `delay_ms`, in ms (uniform), or the standard deviation
    (normal). The sum with `delay_ms` is never below 0."""
    jitter_shape: Literal["uniform", "normal", "table"] = "uniform"
    jitter_table: tuple[float, ...] = ()
    """Quantiles of shape `table`: deviations from the delay in units of `jitter_ms`, ascending,
    evenly from the least to the most. A study file may name a file of netem's distributions
    instead, such as /usr/lib/tc/pareto.dist."""
    jitter_reorders: bool = False
    """Each packet has its own delay, so packets overtake each other; otherwise the delay changes
    with time and packets keep their order."""
    jitter_period_ms: float | None = None
    """Time in ms from one random delay to the next, if jitter keeps packets in order. None means
    the least possible, 8 times `jitter_ms`."""
    gilbert_elliott: GilbertElliott | None = None
    """Loss in bursts, instead of `loss`."""
    duplicate: float = 0.0
    """Share of packets sent twice."""
    reorder: float = 0.0
    """Share of packets that skip delay and jitter, so they overtake others (netem's `reorder`)."""
    mtu: int | None = None
    """Most layer 3 bytes of a packet. Longer packets are dropped."""
    mtu_behaviour: MtuBehaviour = "black-hole"
    """What the link does with packets that are too long. `black-hole`: drops them without an
    answer. `too-big`: answers the sender with ICMP (fragmentation needed, or packet too big over
    IPv6), ten times in a burst and then ten times a second (RFC 4443 section 2.4); packets that may
    be fragmented are dropped without an answer. `clamp`: lowers the MSS in SYNs that go the other
    way, so that TCP sends no packet that is too long; for UDP it is a black hole."""
    policer: Policer | None = None
    """Rate and burst above which packets are dropped. No packet waits."""
    drops_syn_data: bool = False
    """Whether SYNs that carry data are dropped without an answer. A middlebox at the start of the
    direction, before every stage, does it, as some do with TCP Fast Open (RFC 7413 section 7.1)."""
    udp: Udp | None = None
    """What UDP meets, and TCP does not, at the start of the direction, before every stage."""
    grant: Grant | None = None
    """What the client must ask for before it may send, only in `up`. Packets that wait for a grant
    wait before every stage, and no depth limits them."""
    hosts: tuple[HostPath, ...] = ()
    """Extra delay and loss of single hosts, identified by the origin's address (cook2017 section
    III-A)."""
    stages: tuple[Stage, ...] | None = None
    """Order of the stages, each at most once. The order must contain every stage in use. None means
    the side's default."""

    def __post_init__(self) -> None:
        if self.rate_mbps is not None and self.rate_mbps <= 0:
            raise ValueError("rate_mbps must be above zero, or left out for an unlimited link")
        require_shares(self, "loss", "duplicate", "reorder")
        for name in ("delay_ms", "jitter_ms", "trace_offset_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        self._check_jitter()
        depths = [name for name in _DEPTHS if getattr(self, name)]
        for name in (*_DEPTHS, "mtu"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"{name} must be above zero, or left out for no limit")
        if self.mtu_behaviour != "black-hole" and not (self.mtu or 0) >= _LEAST_MTU:
            raise ValueError(
                f"mtu_behaviour is of an mtu: give mtu too, of at least {_LEAST_MTU} bytes"
            )
        for contrary in (
            depths if len(depths) > 1 else [],
            ["rate_mbps", "trace"] if self.rate_mbps and self.trace else [],
            ["loss", "gilbert_elliott"] if self.loss and self.gilbert_elliott else [],
            ["queue_ms", "aqm with a trace"] if self.queue_ms and self.aqm and self.trace else [],
            ["delay_trace", "jitter_ms"] if self.delay_trace and self.jitter_ms else [],
            ["delay_trace", "reorder"] if self.delay_trace and self.reorder else [],
        ):
            if contrary:
                raise ValueError(f"{' and '.join(contrary)} cannot be combined: give one")
        if self.aqm and not (self.rate_mbps or self.trace):
            raise ValueError("aqm manages the queue of a rate or trace: give rate_mbps too")
        if self.reorder and not self.delay_ms:
            raise ValueError("reorder sends packets ahead of the delay: give delay_ms too")
        if self.stages is not None:
            self._check_order(self.stages)

    def _check_order(self, stages: tuple[Stage, ...]) -> None:
        if len(set(stages)) < len(stages):
            raise ValueError("stages names a stage twice: name each once")
        for effect in EFFECTS:
            if effect.stage and effect.stage not in stages and effect.wanted(self):
                raise ValueError(
                    f"stages lacks {effect.stage!r}, which this direction needs: add it"
                )

    def _check_jitter(self) -> None:
        table = self.jitter_table
        if (self.jitter_shape == "table") != bool(table):
            raise ValueError("jitter_table is of jitter_shape 'table': give both or neither")
        if table and (
            len(table) < 2
            or any(b < a for a, b in pairwise(table))
            or not all(abs(x) <= _MOST_DEVIATIONS for x in table)
        ):
            raise ValueError(
                f"jitter_table needs at least 2 ascending numbers from -{_MOST_DEVIATIONS} to "
                f"{_MOST_DEVIATIONS}"
            )
        if self.jitter_period_ms is None:
            return
        if not self.jitter_ms or self.jitter_reorders:
            raise ValueError(
                "jitter_period_ms is of jitter in order: give jitter_ms, and no jitter_reorders"
            )
        least_ms = _LEAST_PERIODS * self.jitter_ms
        if self.jitter_period_ms < least_ms:
            raise ValueError(
                f"jitter_period_ms must be at least {plain(least_ms)}, {_LEAST_PERIODS} times "
                "jitter_ms: else packets would overtake each other"
            )

    @property
    def depth(self) -> float | None:
        """Limit of the queue in whichever unit is set; None is unbounded."""
        return self.queue_ms or self.queue_bytes or self.queue_packets

    @property
    def period_ms(self) -> float | None:
        """Period in ms of in-order jitter, see `jitter_period_ms`; None without such jitter."""
        if not self.jitter_ms or self.jitter_reorders:
            return None
        return self.jitter_period_ms or _LEAST_PERIODS * self.jitter_ms

    @property
    def mean_loss(self) -> float:
        """Share of packets lost at random in the long run, without the loss of single hosts."""
        return self.gilbert_elliott.loss if self.gilbert_elliott else self.loss

    @property
    def chance(self) -> bool:
        """Whether chance decides what happens to a packet."""
        return any(effect.chance(self) for effect in EFFECTS)

    @property
    def least_delay_ms(self) -> float:
        """Shortest delay of a packet, in ms, with its wait for a grant."""
        waits_ms = self.grant.least_ms if self.grant else 0.0
        if self.reorder:
            return waits_ms
        waits_ms += self.delay_trace.least_ms if self.delay_trace else 0.0
        return waits_ms + max(0.0, self.delay_ms - self._jitter_bounds_ms[0])

    @property
    def most_delay_ms(self) -> float:
        """Longest delay of a packet in ms, without queue, rate and waiting for earlier packets."""
        longest_ms = self.delay_ms + self._jitter_bounds_ms[1] + self.further_ms
        return longest_ms + (self.delay_trace.most_ms if self.delay_trace else 0.0)

    @property
    def further_ms(self) -> float:
        """Longest time in ms that a packet spends on a host's path, in a middlebox and without a
        grant."""
        further = max((p.delay_ms for p in self.hosts), default=0.0)
        further += self.udp.delay_ms if self.udp else 0.0
        return further + (self.grant.most_ms if self.grant else 0.0)

    @property
    def usual_delay_ms(self) -> float:
        """Mean delay in ms of a packet whose client has no grant, without queue and rate."""
        waits_ms = self.grant.usual_ms if self.grant else 0.0
        waits_ms += self.delay_trace.mean_ms if self.delay_trace else 0.0
        return self.delay_ms + waits_ms

    @property
    def long_delay_ms(self) -> float:
        """Longest delay in ms that is recorded or scheduled, without jitter, queue and rate."""
        waits_ms = self.grant.most_ms if self.grant else 0.0
        waits_ms += self.delay_trace.most_ms if self.delay_trace else 0.0
        return self.delay_ms + waits_ms

    @property
    def table_digest(self) -> str:
        """First 12 hex digits of the SHA-256 of `jitter_table`."""
        return hashlib.sha256(msgspec.json.encode(self.jitter_table)).hexdigest()[:12]

    @property
    def _jitter_bounds_ms(self) -> tuple[float, float]:
        """Most that a delay may be below and above its mean, in ms, as a pair."""
        if self.jitter_shape == "table":
            least, most = self.jitter_table[0], self.jitter_table[-1]
            return self.jitter_ms * max(0.0, -least), self.jitter_ms * max(0.0, most)
        # The link draws normal jitter from 53 random bits, so it is at most sqrt(2 ln 2^53)
        # deviations.
        bound = self.jitter_ms * (1.0 if self.jitter_shape == "uniform" else 8.572)
        return bound, bound

    def least_ms(self, size: float) -> float:
        """Return the least time in ms in which the line carries `size` bytes."""
        if self.trace:
            return self.trace.least_ms(size)
        return size * 8 / (self.rate_mbps * 1000) if self.rate_mbps else 0.0

    def describe(self) -> list[str]:
        """Describe every setting in words, except rate, delay, loss and a droptail queue's depth in
        ms."""
        said = [words for effect in EFFECTS for words in effect.says(self)]
        return said if self.stages is None else [*said, f"stages {', '.join(self.stages)}"]


class Counters(Struct, frozen=True, kw_only=True):
    """What the link counts of its effects. A capsule that is older than a counter lacks the
    counter."""

    dropped_loss: int
    dropped_queue: int
    dropped_aqm: int = 0
    dropped_mtu: int = 0
    dropped_syn_data: int = 0
    dropped_host: int = 0
    dropped_policer: int = 0
    dropped_handover: int = 0
    dropped_nat: int = 0
    dropped_udp: int = 0
    granted: int = 0
    """Packets that waited for a grant."""
    told_too_big: int = 0
    """Packets that were too long and about which the link informed the sender."""
    clamped: int = 0
    """SYNs of the other direction whose MSS the link lowered."""
    marked: int = 0
    """Packets sent on with Congestion Experienced set by the link."""
    duplicated: int = 0
    """Copies made: packets_in + duplicated = packets_out + all drops + send_failures + queued."""
    reordered: int = 0
    """Packets sent after a later one; copies do not count."""


class Count(Struct, frozen=True):
    """A counter of `Counters` that stays 0 unless an effect is requested that it counts."""

    field: str
    words: str
    """What happened to the packets, to follow "12 packets were"."""
    wanted: Callable[[Direction], object]

    @property
    def cause(self) -> str:
        """Why the counted packets were dropped; empty if they were not."""
        return self.field.removeprefix("dropped_") if self.field.startswith("dropped_") else ""


def _never(_: Direction) -> bool:
    return False


def _nothing(_: Direction) -> Iterator[str]:
    yield from ()


class Effect(Struct, frozen=True, kw_only=True):
    """One thing that a link may do to packets."""

    example: Mapping[str, object]
    """Fields of a direction that request the effect, for tests."""
    wanted: Callable[[Direction], object]
    """Whether a direction requests the effect."""
    stage: Stage | None = None
    """Stage at which the effect happens. None means before all stages."""
    sides: tuple[Side, ...] = ("down", "up")
    """Directions that may request the effect."""
    says: Callable[[Direction], Iterator[str]] = _nothing
    """What a network's description says of the effect, if the direction requests it."""
    chance: Callable[[Direction], object] = _never
    """Whether the effect picks packets at random with this direction's settings."""
    reorders: Callable[[Direction], object] = _never
    """Whether packets may overtake others with this direction's settings."""
    counts: tuple[Count, ...] = ()


def _jitter(d: Direction) -> Iterator[str]:
    if d.jitter_ms:
        way = f"in order, period {plain(d.period_ms)} ms" if d.period_ms else "reordering"
        of = f" (table {d.table_digest})" if d.jitter_table else ""
        shape = "recorded" if d.jitter_table else d.jitter_shape
        yield f"{shape} jitter {plain(d.jitter_ms)} ms{of}, {way}"


def _bursts(d: Direction) -> Iterator[str]:
    if d.gilbert_elliott:
        yield f"loss in bursts ({d.gilbert_elliott.describe()})"


def _duplicates(d: Direction) -> Iterator[str]:
    if d.duplicate:
        yield f"{plain(d.duplicate * 100)} % duplicated"


def _ahead(d: Direction) -> Iterator[str]:
    if d.reorder:
        yield f"{plain(d.reorder * 100)} % sent ahead"


def _aqm(d: Direction) -> Iterator[str]:
    if d.aqm:
        yield d.aqm.describe()


def _trace(d: Direction) -> Iterator[str]:
    if d.trace and d.trace_offset_ms:
        yield f"trace from {plain(d.trace_offset_ms)} ms on"


_MTU_WORDS: Mapping[MtuBehaviour, str] = {
    "black-hole": "",
    "too-big": ", senders are told",
    "clamp": ", clamps the MSS",
}


def _mtu(d: Direction) -> Iterator[str]:
    if d.mtu:
        yield f"MTU {d.mtu} B{_MTU_WORDS[d.mtu_behaviour]}"


def _policer(d: Direction) -> Iterator[str]:
    if policer := d.policer:
        yield f"policer {plain(policer.rate_mbps)} Mbit/s, burst {policer.burst_bytes} B"


def _middlebox(d: Direction) -> Iterator[str]:
    if d.drops_syn_data:
        yield "drops SYNs with data"


def _udp(d: Direction) -> Iterator[str]:
    if d.udp and d.udp.loss == 1:
        yield "blocks UDP"
    elif d.udp:
        yield f"UDP {plain(d.udp.delay_ms)} ms later, loses {plain(d.udp.loss * 100)} % of it"


def _recorded(d: Direction) -> Iterator[str]:
    if d.delay_trace:
        more = " more" if d.delay_ms else ""
        yield f"delay{more} {d.delay_trace.describe()}"


def _grant(d: Direction) -> Iterator[str]:
    if grant := d.grant:
        held = f", held for {plain(grant.held_ms)} ms" if grant.held_ms else ""
        yield (
            f"asks for grants every {plain(grant.request_ms)} ms, gets them after "
            f"{plain(grant.delay_ms)} ms{held}"
        )


def _hosts(d: Direction) -> Iterator[str]:
    for path in d.hosts:
        yield f"{path.host} {plain(path.delay_ms)} ms further, loses {plain(path.loss * 100)} %"


EFFECTS = (
    Effect(
        stage="delay",
        example={"delay_ms": 5, "jitter_ms": 3, "jitter_reorders": True},
        wanted=lambda d: d.delay_ms or d.jitter_ms,
        says=_jitter,
        chance=lambda d: d.jitter_ms,
        reorders=lambda d: d.jitter_reorders,
    ),
    Effect(
        stage="loss",
        example={"gilbert_elliott": GilbertElliott(p=0.1, r=0.5)},
        wanted=lambda d: d.mean_loss,
        says=_bursts,
        chance=lambda d: d.mean_loss,
        counts=(Count("dropped_loss", "lost at random", lambda d: d.mean_loss),),
    ),
    Effect(
        stage="duplicate",
        example={"duplicate": 0.1},
        wanted=lambda d: d.duplicate,
        says=_duplicates,
        chance=lambda d: d.duplicate,
        counts=(Count("duplicated", "duplicated", lambda d: d.duplicate),),
    ),
    Effect(
        stage="delay",
        example={"delay_ms": 5, "reorder": 0.1},
        wanted=lambda d: d.reorder,
        says=_ahead,
        chance=lambda d: d.reorder,
        reorders=lambda d: d.reorder,
    ),
    Effect(
        stage="queue",
        example={"rate_mbps": 1, "queue_packets": 9},
        wanted=lambda d: d.rate_mbps or d.trace,
        counts=(Count("dropped_queue", "dropped by a full queue", lambda d: d.depth),),
    ),
    Effect(
        stage="queue",
        example={"rate_mbps": 1, "aqm": FqCodel()},
        wanted=lambda d: d.aqm,
        says=_aqm,
        chance=lambda d: d.aqm and d.aqm.chance,
        reorders=lambda d: d.aqm and d.aqm.fair,
        counts=(
            Count("dropped_aqm", "dropped by the AQM", lambda d: d.aqm),
            Count("marked", "marked", lambda d: d.aqm and d.aqm.marks),
        ),
    ),
    Effect(
        stage="queue",
        example={"trace": Trace(name="made", opportunities_ms=(1, 2)), "trace_offset_ms": 1},
        wanted=lambda d: d.trace,
        says=_trace,
    ),
    Effect(
        stage="delay",
        example={"delay_trace": DelayTrace(name="made", steps=((0, 5), (1, 9), (2, 0)))},
        wanted=lambda d: d.delay_trace,
        says=_recorded,
    ),
    Effect(
        example={"grant": Grant(request_ms=10, delay_ms=8)},
        sides=("up",),
        wanted=lambda d: d.grant,
        says=_grant,
        counts=(Count("granted", "held for a grant", lambda d: d.grant),),
    ),
    Effect(
        stage="mtu",
        example={"mtu": 1400},
        wanted=lambda d: d.mtu,
        says=_mtu,
        counts=(Count("dropped_mtu", "dropped as too long", lambda d: d.mtu),),
    ),
    Effect(
        stage="mtu",
        example={"mtu": 1400, "mtu_behaviour": "too-big"},
        wanted=lambda d: d.mtu_behaviour == "too-big",
        counts=(
            Count("told_too_big", "answered as too long", lambda d: d.mtu_behaviour == "too-big"),
        ),
    ),
    Effect(
        stage="mtu",
        example={"mtu": 1400, "mtu_behaviour": "clamp"},
        wanted=lambda d: d.mtu_behaviour == "clamp",
        counts=(Count("clamped", "SYNs with a clamped MSS", lambda d: d.mtu_behaviour == "clamp"),),
    ),
    Effect(
        example={"drops_syn_data": True},
        wanted=lambda d: d.drops_syn_data,
        says=_middlebox,
        counts=(
            Count("dropped_syn_data", "dropped as SYNs with data", lambda d: d.drops_syn_data),
        ),
    ),
    Effect(
        stage="hosts",
        example={"hosts": (HostPath(host="a.test", delay_ms=5, loss=0.1),)},
        wanted=lambda d: d.hosts,
        says=_hosts,
        chance=lambda d: any(path.loss for path in d.hosts),
        reorders=lambda d: any(path.delay_ms for path in d.hosts),
        counts=(Count("dropped_host", "lost on a host's way", lambda d: d.hosts),),
    ),
    Effect(
        stage="policer",
        example={"policer": Policer(rate_mbps=2, burst_bytes=9000)},
        wanted=lambda d: d.policer,
        says=_policer,
        counts=(Count("dropped_policer", "dropped by the policer", lambda d: d.policer),),
    ),
    Effect(
        example={"udp": Udp(delay_ms=5, loss=0.1)},
        wanted=lambda d: d.udp,
        says=_udp,
        chance=lambda d: d.udp and 0 < d.udp.loss < 1,
        reorders=lambda d: d.udp and d.udp.delay_ms,
        counts=(Count("dropped_udp", "dropped as UDP", lambda d: d.udp and d.udp.loss),),
    ),
)
"""All effects, in the order in which a network's description names them."""


def _reorders(d: Direction) -> bool:
    return any(effect.reorders(d) for effect in EFFECTS)


STEP_COUNTS = (
    Count("dropped_handover", "dropped with their queue at a handover", _never),
    Count("dropped_nat", "dropped by a NAT that had lost their mapping", _never),
)
"""Counts of steps (`dragstrip.model.steps`), which no direction asks for by itself."""

COUNTS = (
    *(count for effect in EFFECTS for count in effect.counts),
    Count("reordered", "reordered", _reorders),
    *STEP_COUNTS,
)
DROPS = tuple(count for count in COUNTS if count.cause)


def others_in_words(counters: Counters) -> str:
    """Say in words what else happened to packets: ``3 marked, 2 duplicated``. Empty if nothing
    did."""
    seen = {count: getattr(counters, count.field) for count in COUNTS if not count.cause}
    return ", ".join(f"{packets} {count.words}" for count, packets in seen.items() if packets)


def drops_in_words(packets: Mapping[str, int], *, but: str = "") -> str:
    """Count dropped packets by cause, in words: ``3 lost at random, 2 dropped by a full queue``, or
    ``none dropped``. `but` names a cause to leave out."""
    phrases = (
        f"{packets[count.cause]} {count.words}"
        for count in DROPS
        if count.cause != but and packets[count.cause]
    )
    return ", ".join(phrases) or "none dropped"
