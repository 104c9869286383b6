"""A network: the settings of the emulated link, per direction."""

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from math import sqrt
from typing import Literal, Self

import msgspec
from msgspec import Struct, structs

from dragstrip.model.background import Background
from dragstrip.model.trace import Trace
from dragstrip.model.units import (
    UnitError,
    parse_duration_ms,
    parse_rate_mbps,
    parse_share,
    plain,
)

ETHERNET_MTU = 1500
_LEAST_PERIODS = 8
"""Shortest period of in-order jitter, in units of the jitter (crates/link/src/model/wander.rs)."""
_LEAST_STATE_MS = 0.1
_MOST_DEVIATIONS = 100
_DEPTHS = ("queue_ms", "queue_bytes", "queue_packets")
SHORT_QUEUE_MS = 200
"""Queue depth, in ms, of a network given as ``100mbit/50ms``, as in most presets."""

Side = Literal["down", "up"]
Stage = Literal["hosts", "mtu", "queue", "delay", "duplicate", "loss"]
"""A place in a direction's order. `queue` is queue and rate; `delay` includes jitter and
reordering."""

STAGES: Mapping[Side, tuple[Stage, ...]] = {
    "down": ("hosts", "mtu", "queue", "delay", "duplicate", "loss"),
    "up": ("loss", "duplicate", "mtu", "queue", "delay", "hosts"),
}
"""Default order of the stages. Random loss sits at the client's end, as in wolsing2019 section
3."""


def per_direction(two_way_loss: float) -> float:
    """The loss l per direction that gives a two-way loss p, of packets or their answers: (1 - l)^2
    = 1 - p (wolsing2019 section 3)."""
    if not 0 <= two_way_loss <= 1:
        raise ValueError("two_way_loss must be a share between 0 and 1")
    return 1 - sqrt(1 - two_way_loss)


def parse_loss(text: str) -> float:
    """The loss per direction of a text: ``"1.7%"``, or for both directions together ``"3.3%
    two-way"``."""
    share, both, _ = text.partition("two-way")
    return per_direction(parse_share(share)) if both else parse_share(text)


class GilbertElliott(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Loss in bursts: a chain of a good and a bad state (Gilbert 1960, Elliott 1963).

    Either the chain follows time, with the mean durations `good_ms` and `bad_ms`, or it makes one
    step per packet, with the probabilities `p` and `r`, as in netem.
    """

    good_ms: float | None = None
    """Mean time that the good state lasts; times are exponential."""
    bad_ms: float | None = None
    """Mean time that the bad state lasts."""
    p: float | None = None
    """Probability that the bad state follows the good one."""
    r: float | None = None
    """Probability that the good state follows the bad one; a mean burst is 1 / r packets."""
    loss_good: float = 0.0
    """Share of packets lost in the good state."""
    loss_bad: float = 1.0
    """Share of packets lost in the bad state."""

    def __post_init__(self) -> None:
        _require_shares(self, "loss_good", "loss_bad")
        fields = ("good_ms", "bad_ms", "p", "r")
        given = [name for name in fields if getattr(self, name) is not None]
        if given == ["good_ms", "bad_ms"]:
            for name in given:
                if getattr(self, name) < _LEAST_STATE_MS:
                    raise ValueError(f"{name} must be at least {_LEAST_STATE_MS}")
        elif given == ["p", "r"]:
            _require_shares(self, "p", "r")
            if not 1e-6 <= sum(self.rates) <= 2 - 1e-6:
                raise ValueError("p and r must add up to more than 0 and less than 2")
        else:
            raise ValueError("give good_ms and bad_ms, or p and r to step with packets")

    @property
    def by_time(self) -> bool:
        return self.good_ms is not None

    @property
    def rates(self) -> tuple[float, float]:
        """Rates at which the chain leaves the good and the bad state, per ms or per packet."""
        if self.good_ms is not None and self.bad_ms is not None:
            return 1 / self.good_ms, 1 / self.bad_ms
        return self.p or 0.0, self.r or 0.0

    @property
    def bad_share(self) -> float:
        """Share of time or packets in the bad state, in the long run."""
        good, bad = self.rates
        return good / (good + bad)

    @property
    def loss(self) -> float:
        """Share of packets lost, in the long run."""
        return self.bad_share * self.loss_bad + (1 - self.bad_share) * self.loss_good

    def describe(self) -> str:
        losses = f"{plain(self.loss_good * 100)}/{plain(self.loss_bad * 100)} % good/bad"
        if self.good_ms is not None and self.bad_ms is not None:
            return f"Gilbert-Elliott {plain(self.good_ms)}/{plain(self.bad_ms)} ms, {losses}"
        good, bad = self.rates
        return f"Gilbert-Elliott p {plain(good)}, r {plain(bad)} per packet, {losses}"


class Aqm(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Active queue management: CoDel (RFC 8289) or FQ-CoDel (RFC 8290)."""

    kind: Literal["codel", "fq_codel"]
    target_ms: float = 5.0
    interval_ms: float = 100.0
    ecn: bool = True
    """Mark packets whose sender understands ECN instead of dropping them."""
    flows: int = 1024
    quantum_bytes: int = 1514

    def __post_init__(self) -> None:
        if self.target_ms <= 0 or self.interval_ms <= 0:
            raise ValueError("target_ms and interval_ms must be above zero")
        if not 1 <= self.flows <= 65_536 or self.quantum_bytes < 1:
            raise ValueError(
                "flows must lie between 1 and 65536, and quantum_bytes must be at least 1"
            )


class HostPath(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Delay and loss that one host adds to a direction (cook2017 section III-A shapes single
    servers)."""

    host: str
    delay_ms: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        _require_shares(self, "loss")
        if self.delay_ms < 0:
            raise ValueError("delay_ms must not be negative")


class Direction(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One direction of a link: docs/reference/network.md. Stages: see `Network`."""

    rate_mbps: float | None = None
    """Bottleneck rate in Mbit/s, of bytes as `Network.accounting` counts them; None leaves the
    direction unlimited."""
    delay_ms: float = 0.0
    """Propagation delay, one way."""
    loss: float = 0.0
    """Probability that a packet is lost at random (Bernoulli), 0..1."""
    queue_ms: float | None = None
    """Queue depth as time at the direction's rate. Without any depth the queue is unbounded."""
    queue_bytes: int | None = None
    """Queue depth in bytes, without the packet being sent."""
    queue_packets: int | None = None
    """Queue depth in packets, without the packet being sent."""
    aqm: Aqm | None = None
    """None is droptail."""
    trace: Trace | None = None
    """Plays this instead of `rate_mbps`. Time 0 of both directions is the first packet of either
    that reaches the link."""
    trace_offset_ms: float = 0.0
    """Where to begin in the trace."""
    jitter_ms: float = 0.0
    """Delays vary by at most this (uniform), or with this standard deviation (normal, table)."""
    jitter_shape: Literal["uniform", "normal", "table"] = "uniform"
    jitter_table: tuple[float, ...] = ()
    """Quantiles of shape `table`: deviations from the delay in units of `jitter_ms`, ascending,
    evenly from the least to the most."""
    jitter_reorders: bool = False
    """Each packet has its own delay, so packets overtake each other; otherwise the delay changes
    with time and packets keep their order."""
    jitter_period_ms: float | None = None
    """Time from one random delay to the next, if jitter keeps packets in order. None means the
    least, 8 times `jitter_ms`."""
    gilbert_elliott: GilbertElliott | None = None
    """Loss in bursts, instead of `loss`."""
    duplicate: float = 0.0
    """Share of packets sent twice."""
    reorder: float = 0.0
    """Share of packets sent ahead: they skip delay and jitter (netem's `reorder`)."""
    mtu: int | None = None
    """Packets of more layer 3 bytes are dropped."""
    drops_syn_data: bool = False
    """A middlebox where the direction begins drops SYNs that carry data, as some do with TCP Fast
    Open (RFC 7413 section 7.1)."""
    hosts: tuple[HostPath, ...] = ()
    stages: tuple[Stage, ...] | None = None
    """Order of the stages; None means the side's default, `STAGES`."""

    def __post_init__(self) -> None:
        if self.rate_mbps is not None and self.rate_mbps <= 0:
            raise ValueError("rate_mbps must be above zero, or left out for an unlimited link")
        _require_shares(self, "loss", "duplicate", "reorder")
        for name in ("delay_ms", "jitter_ms", "trace_offset_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        self._check_jitter()
        depths = [name for name in _DEPTHS if getattr(self, name)]
        for name in (*_DEPTHS, "mtu"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"{name} must be above zero, or left out for no limit")
        for contrary in (
            depths if len(depths) > 1 else [],
            ["rate_mbps", "trace"] if self.rate_mbps and self.trace else [],
            ["loss", "gilbert_elliott"] if self.loss and self.gilbert_elliott else [],
            ["queue_ms", "aqm with a trace"] if self.queue_ms and self.aqm and self.trace else [],
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
        asked: dict[Stage, object] = {
            "hosts": self.hosts,
            "mtu": self.mtu,
            "queue": self.rate_mbps or self.trace,
            "delay": self.delay_ms or self.jitter_ms,
            "duplicate": self.duplicate,
            "loss": self.mean_loss,
        }
        if len(set(stages)) < len(stages):
            raise ValueError("stages names a stage twice: name each once")
        if missing := [stage for stage, value in asked.items() if value and stage not in stages]:
            raise ValueError(f"stages lacks {missing[0]!r}, which this direction needs: add it")

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
        """Limit of the queue, in whatever unit; None is unbounded."""
        return self.queue_ms or self.queue_bytes or self.queue_packets

    @property
    def period_ms(self) -> float | None:
        """Period of in-order jitter, see `jitter_period_ms`; None without such jitter."""
        if not self.jitter_ms or self.jitter_reorders:
            return None
        return self.jitter_period_ms or _LEAST_PERIODS * self.jitter_ms

    @property
    def mean_loss(self) -> float:
        """Share of packets lost at random in the long run, without the loss of single hosts."""
        return self.gilbert_elliott.loss if self.gilbert_elliott else self.loss

    @property
    def chance(self) -> bool:
        """Whether a packet's fate is random: loss, jitter, duplicates or reordering."""
        own = self.mean_loss or self.jitter_ms or self.duplicate or self.reorder
        return bool(own) or any(path.loss for path in self.hosts)

    @property
    def least_delay_ms(self) -> float:
        """Shortest delay of a packet, in ms."""
        if self.reorder:
            return 0.0
        return max(0.0, self.delay_ms - self._jitter_bounds_ms[0])

    @property
    def most_delay_ms(self) -> float:
        """Longest delay of a packet in ms, without queue, rate and waiting for earlier packets."""
        further = max((p.delay_ms for p in self.hosts), default=0)
        return self.delay_ms + self._jitter_bounds_ms[1] + further

    @property
    def _table_digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the jitter's table."""
        return hashlib.sha256(msgspec.json.encode(self.jitter_table)).hexdigest()[:12]

    @property
    def _jitter_bounds_ms(self) -> tuple[float, float]:
        """Most that a delay may be below and above its mean, in ms."""
        if self.jitter_shape == "table":
            least, most = self.jitter_table[0], self.jitter_table[-1]
            return self.jitter_ms * max(0.0, -least), self.jitter_ms * max(0.0, most)
        # The link draws normal jitter from 53 random bits: sqrt(2 ln 2^53) deviations at most.
        bound = self.jitter_ms * (1.0 if self.jitter_shape == "uniform" else 8.572)
        return bound, bound

    def least_ms(self, size: float) -> float:
        """Least time in ms in which the line carries `size` bytes."""
        if self.trace:
            return self.trace.least_ms(size)
        return size * 8 / (self.rate_mbps * 1000) if self.rate_mbps else 0.0

    def describe(self) -> list[str]:
        """Every setting in words, except rate, delay, loss and a droptail queue's depth in ms."""
        said = []
        if self.jitter_ms:
            way = f"in order, period {plain(self.period_ms)} ms" if self.period_ms else "reordering"
            of = f" (table {self._table_digest})" if self.jitter_table else ""
            shape = "recorded" if self.jitter_table else self.jitter_shape
            said.append(f"{shape} jitter {plain(self.jitter_ms)} ms{of}, {way}")
        if chain := self.gilbert_elliott:
            said.append(f"loss in bursts ({chain.describe()})")
        if self.duplicate:
            said.append(f"{plain(self.duplicate * 100)} % duplicated")
        if self.reorder:
            said.append(f"{plain(self.reorder * 100)} % sent ahead")
        if aqm := self.aqm:
            flows = f", {aqm.flows} flows, quantum {aqm.quantum_bytes} B"
            said.append(
                f"{aqm.kind} target {plain(aqm.target_ms)} ms, interval {plain(aqm.interval_ms)} ms"
                f"{flows if aqm.kind == 'fq_codel' else ''}, {'ECN' if aqm.ecn else 'no ECN'}"
            )
        if self.trace and self.trace_offset_ms:
            said.append(f"trace from {plain(self.trace_offset_ms)} ms on")
        if self.mtu:
            said.append(f"MTU {self.mtu} B")
        if self.drops_syn_data:
            said.append("drops SYNs with data")
        for path in self.hosts:
            said.append(
                f"{path.host} {plain(path.delay_ms)} ms further, loses {plain(path.loss * 100)} %"
            )
        if self.stages is not None:
            said.append(f"stages {', '.join(self.stages)}")
        return said


def _require_shares(record: Struct, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(record, name) <= 1:
            raise ValueError(f"{name} must be a share between 0 and 1")


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
    """What counts as a packet's length for rate and queue: the IP packet, or with the Ethernet
    header's 14 bytes (netem)."""
    background: tuple[Background, ...] = ()
    """Other traffic on the same link during a visit."""

    @property
    def chance(self) -> bool:
        """Whether a packet's fate is random in either direction, see `Direction.chance`."""
        return self.down.chance or self.up.chance

    def direction(self, side: Side) -> Direction:
        return self.down if side == "down" else self.up

    def stages(self, side: Side) -> tuple[Stage, ...]:
        """The order in which a packet meets the stages."""
        own = self.direction(side).stages
        return STAGES[side] if own is None else own

    @property
    def rtt_ms(self) -> float:
        """Round trip without queueing or serialisation."""
        return self.down.delay_ms + self.up.delay_ms

    @property
    def least_rtt_ms(self) -> float:
        """Fastest possible round trip in ms, with the least jitter and with reordering."""
        return self.down.least_delay_ms + self.up.least_delay_ms

    @property
    def two_way_loss(self) -> float:
        """Probability that a packet or its answer is lost."""
        return 1 - (1 - self.down.mean_loss) * (1 - self.up.mean_loss)

    def describe(self) -> str:
        """Values per direction, with round trip and two-way loss."""

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
        return (
            f"down {rate(self.down)}, up {rate(self.up)}; one-way delay "
            f"{plain(self.down.delay_ms)}/{plain(self.up.delay_ms)} ms (round trip "
            f"{plain(self.rtt_ms)} ms); loss {plain(self.down.mean_loss * 100)}/"
            f"{plain(self.up.mean_loss * 100)} % (two-way {plain(self.two_way_loss * 100)} %); "
            f"{'' if managed else 'droptail '}queue {queue(self.down)}/{queue(self.up)}"
            + "".join(f"; {said}" for said in more)
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``down/up/one-way delay/loss/queue``, such as ``10.5mbit/2.8mbit/37ms/0%/200ms``,
        or ``rate/one-way delay``, such as ``100mbit/50ms``: symmetric, without loss, a queue of 200
        ms.

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
