"""Says at the end of a link what it did: one line per direction, or JSON."""

from collections.abc import Mapping

from msgspec import Struct

from dragstrip.model.effects import Direction, Side, drops_in_words, others_in_words
from dragstrip.model.network import Network
from dragstrip.model.visit import DirectionReport, LinkReport
from dragstrip.testbed.net.link import UnshapedTraffic
from dragstrip.version import __version__


class DirectionValues(Struct, frozen=True, kw_only=True):
    """The values that were set for one direction."""

    rate_mbps: float | None
    """Rate in Mbit/s; None is unlimited, or plays `trace`."""
    trace: str | None
    """Name of the recorded rates; None without any."""
    delay_ms: float
    delay_trace: str | None
    """Name of the recorded delays, which are added to `delay_ms`; None without any."""
    loss: float
    """Share of packets lost at random in the long run."""
    queue_ms: float | None
    """Queue depth in ms; None is unbounded, or given in another unit."""

    @classmethod
    def of(cls, direction: Direction) -> "DirectionValues":
        return cls(
            rate_mbps=direction.rate_mbps,
            trace=direction.trace.name if direction.trace else None,
            delay_ms=direction.delay_ms,
            delay_trace=direction.delay_trace.name if direction.delay_trace else None,
            loss=direction.mean_loss,
            queue_ms=direction.queue_ms,
        )


class DirectionSummary(Struct, frozen=True, kw_only=True):
    """What one direction carried. Bytes are layer 3."""

    asked: DirectionValues
    """Values at the end, after all changes."""
    packets_in: int
    bytes_in: int
    packets_out: int
    bytes_out: int
    drops: dict[str, int]
    """Packets that the link dropped, by cause."""
    loss: float
    """Share of packets that the link lost at random."""
    rate_mbps: float | None
    """Rate in Mbit/s while the line was busy; None if the line was hardly ever busy."""
    delay_ms: float | None
    """Least time in ms that a packet spent in the link, without its time in the queue and on the
    line; None if no packet passed."""
    queue_p50_ms: float | None
    queue_p99_ms: float | None
    """The 99th percentile of the time in ms that packets waited in the queue; None if no packet
    passed a queue."""
    queue_max_ms: float
    lateness_p50_us: float | None
    lateness_p99_us: float | None
    lateness_max_us: float | None
    """Largest delay in us with which a packet left after it was due in the link's schedule; None if
    no packet left."""
    kernel_drops: int
    """Packets that the kernel dropped on their way to or from the link."""
    unshaped_packets: int
    unshaped_bytes: int
    """Bytes that passed without emulation, with ``--ports``."""


class LinkSummary(Struct, frozen=True, kw_only=True):
    """A link and the program behind it, from start to end."""

    dragstrip: str
    """Version of dragstrip."""
    network: str
    source: str
    exit_code: int
    """Exit code of the program; 128 + the signal that ended it."""
    duration_s: float
    changes: int
    """How often ``--control`` changed the link."""
    realtime: bool
    """Whether the link ran with real-time priority."""
    down: DirectionSummary
    up: DirectionSummary


def summary(report: LinkReport) -> str:
    """Write one line per direction."""
    return "".join(
        f"dragstrip: {side:4} {_facts(direction)}\n"
        for side, direction in (("down", report.down), ("up", report.up))
    )


def carried(
    network: Network, side: Side, got: DirectionReport, beside: UnshapedTraffic
) -> DirectionSummary:
    return DirectionSummary(
        asked=DirectionValues.of(network.direction(side)),
        packets_in=got.packets_in,
        bytes_in=got.bytes_in,
        packets_out=got.packets_out,
        bytes_out=got.bytes_out,
        drops=got.drops,
        loss=got.realised_loss,
        rate_mbps=got.realised_mbps,
        delay_ms=got.flight_min_ms,
        queue_p50_ms=got.queue_p50_ms,
        queue_p99_ms=got.queue_p99_ms,
        queue_max_ms=got.queue_max_ms,
        lateness_p50_us=got.lateness_p50_us,
        lateness_p99_us=got.lateness_p99_us,
        lateness_max_us=got.lateness_max_us,
        kernel_drops=(got.lost_before or 0) + (got.lost_behind or 0) + beside.lost,
        unshaped_packets=beside.packets,
        unshaped_bytes=beside.bytes,
    )


def summarise(
    network: Network,
    report: LinkReport,
    beside: Mapping[Side, UnshapedTraffic],
    *,
    exit_code: int,
    duration_s: float,
    changes: int,
    realtime: bool,
) -> LinkSummary:
    """Summarise a link. `network` is its last network, `beside` the traffic that passed without
    emulation."""
    return LinkSummary(
        dragstrip=__version__,
        network=network.name,
        source=network.source,
        exit_code=exit_code,
        duration_s=duration_s,
        changes=changes,
        realtime=realtime,
        down=carried(network, "down", report.down, beside["down"]),
        up=carried(network, "up", report.up, beside["up"]),
    )


def _facts(got: DirectionReport) -> str:
    rate = "line never busy" if not got.realised_mbps else f"{got.realised_mbps:.3f} Mbit/s busy"
    late = (got.lateness_p50_us, got.lateness_p99_us, got.lateness_max_us)
    times = "/".join("-" if us is None else f"{us:.0f}" for us in late)
    dropped = drops_in_words(got.drops)
    if got.dropped_loss:
        dropped += f" (random loss {got.realised_loss:.2%})"
    if others := others_in_words(got):
        dropped += f"; {others}"
    if outside := (got.lost_before or 0) + (got.lost_behind or 0):
        dropped += f"; the kernel dropped {outside} more around the link"
    return (
        f"{got.packets_in} packets, {got.bytes_in} bytes in; {dropped}; {rate}; "
        f"lateness p50/p99/max {times} us"
    )
