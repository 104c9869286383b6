"""Measures links from outside, by sockets at both ends, before visits rely on them."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import structs

from dragstrip.model.calibration import Calibration, Quantity, Reading, Tolerance
from dragstrip.model.chance import loss_interval
from dragstrip.model.effects import Direction, Side
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.testbed.calibrate import probe as calibrate_probe
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import Link, emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.net.wires import CLIENT_IP, GATEWAY_IP, wire_up
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.workspace import workspace

_SENDER: dict[Side, str] = {"down": "origin", "up": "client"}
_OVERLOAD = 2.0
"""Rate of a flood, as a multiple of the line's rate."""
_DEEPEST_MS = 1500.0
_FASTEST_MBPS = 200.0
_SCATTERED = 4000
_ATTEMPTS = 3


@dataclass(frozen=True)
class Effort:
    """How long, and how often, a calibration measures."""

    exchanges: int
    flood_s: float
    stream_s: float | None
    """Duration of the TCP measurement in s; None leaves it out."""


THOROUGH = Effort(exchanges=8, flood_s=1.0, stream_s=1.5)
BRIEF = Effort(exchanges=3, flood_s=0.4, stream_s=None)


@dataclass(frozen=True)
class _Bench:
    link: Link
    probe: JsonProcess
    network: Network
    tolerance: Tolerance

    def reading(
        self, transport: Literal["tcp", "udp"], quantity: Quantity, side: Side | None, **rest: Any
    ) -> Reading:
        units = {"rate": "Mbit/s", "loss": "%"}
        return Reading(
            network=self.network.name,
            side=side,
            transport=transport,
            quantity=quantity,
            unit=units.get(quantity, "ms"),
            **rest,
        )

    def ask(self, cmd: str, **fields: Any) -> dict[str, Any]:
        return self.probe.ask(cmd, dict[str, Any], **fields)


def calibrate(
    networks: Sequence[Network],
    *,
    effort: Effort = THOROUGH,
    tolerance: Tolerance | None = None,
    shown: Callable[[Reading], None] = lambda _: None,
) -> Calibration:
    """Measure every network's rate, delay, random loss and droptail depth through a real link.

    Other settings of a network (jitter, bursts, traces, queue management ...) are not measured, and
    the readings' notes say so. A network that fails is measured again, at most twice, because a
    busy moment of the host is not the link's fault. Raises `TestbedError`.
    """
    limits = tolerance or Tolerance()
    began = time.monotonic()
    readings: list[Reading] = []
    with _laboratory() as (link, probe):
        for network in networks:
            bench = _Bench(link, probe, _plain(network), limits)
            for _ in range(_ATTEMPTS):
                found = list(_measure(bench, effort))
                if all(r.good for r in found):
                    break
            for reading in found:
                shown(reading)
            readings += found
        return Calibration(
            readings=tuple(readings),
            tolerance=limits,
            took_s=time.monotonic() - began,
            realtime=link.realtime,
        )


@contextlib.contextmanager
def _laboratory() -> Iterator[tuple[Link, JsonProcess]]:
    with workspace() as folder, namespaces() as spaces:
        wire_up(spaces, {})
        argv = [sys.executable, "-I", calibrate_probe.__file__, CLIENT_IP, GATEWAY_IP]
        with (
            emulated_link(spaces, folder / "link.err") as link,
            json_process("the probe", [*spaces.enter("--mount"), *argv], folder / "e") as probe,
        ):
            yield link, probe


def _measure(bench: _Bench, effort: Effort) -> Iterator[Reading]:
    yield from _round_trips(bench, effort)
    sides: tuple[tuple[Side, Direction], ...] = (
        ("down", bench.network.down),
        ("up", bench.network.up),
    )
    for side, asked in sides:
        yield from _flood(bench, side, asked, effort)
        if effort.stream_s is not None:
            yield _stream(bench, side, asked, effort.stream_s)
        yield _loss(bench, side, asked)


def _round_trips(bench: _Bench, effort: Effort) -> Iterator[Reading]:
    # The measurement runs without loss, because it would wait for a lost packet. Loss is measured
    # separately.
    asked = _changed(bench.network, loss=0.0)
    for transport in ("udp", "tcp"):
        bench.link.configure(asked, seed=0)
        got = bench.ask("round_trip", transport=transport, count=effort.exchanges)
        bits = got["packet_bytes"] * 8
        rates = (asked.down.rate_mbps, asked.up.rate_mbps)
        rtt_ms = asked.rtt_ms + sum(bits / rate / 1000 for rate in rates if rate)
        slack = max(bench.tolerance.rtt_ms, bench.tolerance.rtt_share * rtt_ms)
        off = got["rtt_ms"] - rtt_ms
        yield bench.reading(
            "udp" if transport == "udp" else "tcp",
            "round trip",
            None,
            asked=rtt_ms,
            measured=got["rtt_ms"],
            good=-0.05 <= off <= slack,
            note="one byte each way, serialisation included",
        )


def _plain(network: Network) -> Network:
    """Return the network reduced to the settings that sockets at its ends can measure."""

    def only(direction: Direction) -> Direction:
        return Direction(
            rate_mbps=direction.rate_mbps,
            delay_ms=direction.delay_ms,
            loss=direction.loss,
            queue_ms=None if direction.aqm else direction.queue_ms,
        )

    return structs.replace(
        network,
        down=only(network.down),
        up=only(network.up),
        accounting="l3",
        background=(),
        at=(),
    )


def _flood(bench: _Bench, side: Side, asked: Direction, effort: Effort) -> Iterator[Reading]:
    rate, queue_ms = asked.rate_mbps, asked.queue_ms
    if rate is None or rate > _FASTEST_MBPS:
        limit = "no rate is asked for"
        if rate is not None:
            limit = f"above {_FASTEST_MBPS:g} Mbit/s the probe is not faster than the line"
        yield bench.reading("udp", "rate", side, asked=rate, note=limit)
        return
    packet_ms = ETHERNET_MTU * 8 / rate / 1000
    depth_ms = min(queue_ms or 100.0, _DEEPEST_MS)
    # The flood fills the queue, then keeps it full for a while, and sends at least 60 packets.
    seconds = max(effort.flood_s, 60 * packet_ms / 1000) + 1.5 * depth_ms / 1000
    bench.link.configure(_changed(bench.network, loss=0.0), seed=0)
    got = bench.ask(
        "flood", sender=_SENDER[side], mbps=_OVERLOAD * rate, seconds=seconds, line_mbps=rate
    )
    limits = bench.tolerance
    if got["sent_mbps"] < rate * 1.2:
        note = f"the host was too busy to send more than {got['sent_mbps']:.1f} Mbit/s"
        yield bench.reading("udp", "rate", side, asked=rate, note=note)
        return
    yield bench.reading(
        "udp",
        "rate",
        side,
        asked=rate,
        measured=got["rate_mbps"],
        good=abs(got["rate_mbps"] / rate - 1) <= limits.rate_share,
    )
    yield bench.reading(
        "udp",
        "burst",
        side,
        asked=0.0,
        measured=got["burst_ms"],
        good=got["burst_ms"] <= limits.burst_ms + 2 * packet_ms,
        note="how far 99 % of the packets are ahead of the line at most",
    )
    if queue_ms is None or queue_ms > _DEEPEST_MS:
        note = "unbounded" if queue_ms is None else f"deeper than {_DEEPEST_MS:g} ms"
        yield bench.reading("udp", "queue depth", side, asked=queue_ms, note=note)
        return
    yield bench.reading(
        "udp",
        "queue depth",
        side,
        asked=queue_ms,
        measured=got["queue_ms"],
        good=abs(got["queue_ms"] - queue_ms) <= limits.queue_ms + 2 * packet_ms,
    )


def _stream(bench: _Bench, side: Side, asked: Direction, seconds: float) -> Reading:
    rate = asked.rate_mbps
    if rate is None or rate > _FASTEST_MBPS:
        return bench.reading("tcp", "rate", side, asked=rate, note="see UDP")
    # There is no random loss and no full queue, because with either the rate would be TCP's own
    # choice.
    bench.link.configure(_changed(bench.network, loss=0.0, queue_ms=None), seed=0)
    got = bench.ask("stream", sender=_SENDER[side], megabytes=max(rate * seconds / 8, 0.05))
    return bench.reading(
        "tcp",
        "rate",
        side,
        asked=rate,
        measured=got["rate_mbps"],
        good=abs(got["rate_mbps"] / rate - 1) <= bench.tolerance.rate_share,
        note="with an unbounded queue",
    )


def _loss(bench: _Bench, side: Side, asked: Direction) -> Reading:
    bench.link.configure(_changed(bench.network, rate_mbps=None, delay_ms=0.0), seed=1)
    got = bench.ask("scatter", sender=_SENDER[side], count=_SCATTERED)
    lost = _SCATTERED - got["received"]
    low, high = loss_interval(_SCATTERED, asked.loss, bench.tolerance.loss_tail)
    return bench.reading(
        "udp",
        "loss",
        side,
        asked=asked.loss * 100,
        measured=lost / _SCATTERED * 100,
        good=low <= lost <= high,
        note=f"{_SCATTERED} packets, without rate and delay",
    )


def _changed(network: Network, **values: Any) -> Network:
    return structs.replace(
        network,
        down=structs.replace(network.down, **values),
        up=structs.replace(network.up, **values),
    )


def refuse_unless_good(calibration: Calibration) -> None:
    """Raise `TestbedError` if a reading is out of tolerance. The text names the first such
    reading."""
    bad = [r for r in calibration.readings if not r.good]
    if bad:
        more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise TestbedError(
            f"the link does not deliver {bad[0].network!r}: {bad[0].describe()}{more}; wait until "
            "the host is quiet, or give --no-calibrate and let each visit's verdict decide"
        )
