"""`dragstrip link`: any program behind the emulated link."""

import contextlib
import os
import shutil
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import structs

from dragstrip.model.effects import drops_in_words, others_in_words
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.units import parse_duration_ms, parse_rate_mbps, parse_share
from dragstrip.model.visit import DirectionReport, LinkReport
from dragstrip.study.presets import find_network
from dragstrip.study.tracefiles.network import traced
from dragstrip.testbed.net.link import emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.uplink.command import run_inside, watch_signals
from dragstrip.testbed.uplink.pasta import pasta_uplink
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink


class UplinkKind(StrEnum):
    veth = "veth"
    pasta = "pasta"


def link(
    command: Annotated[list[str], typer.Argument(help="Program to run.", metavar="-- COMMAND...")],
    down: Annotated[
        str | None, typer.Option(help="Rate to the command, like 12mbit (default: unlimited).")
    ] = None,
    up: Annotated[
        str | None, typer.Option(help="Rate from the command, like 1mbit (default: unlimited).")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="One-way delay, like 20ms, in each direction (default: 0ms).")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="Share of packets lost, like 1%, in each direction (default: 0%)."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(help="Droptail queue as time, like 200ms, or 'unbounded' (default)."),
    ] = None,
    network: Annotated[
        str,
        typer.Option(
            help="Start from this network (`dragstrip list networks`); other options override it."
        ),
    ] = "bare",
    trace: Annotated[
        str | None,
        typer.Option(
            help="Play the rates recorded in this file, Mahimahi's or a throughput log "
            "(docs/howto/traces.md), instead of the network's (default: none).",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random loss.")] = 0,
    uplink: Annotated[
        UplinkKind | None,
        typer.Option(help="How packets leave the link (default: veth as root, else pasta)."),
    ] = None,
) -> None:
    """Run a program behind the emulated link."""
    start = find_network(network)
    asked = changed(traced(start, trace) if trace else start, down, up, delay, loss, queue)
    if not shutil.which(command[0]):
        raise InputError(f"{command[0]!r}: no such program")
    code, report = _run(asked, seed, uplink, command)
    sys.stderr.write(summary(report))
    sys.exit(code)


def changed(
    network: Network,
    down: str | None,
    up: str | None,
    delay: str | None,
    loss: str | None,
    queue: str | None,
) -> Network:
    """The network with the given options applied. Raises `UnitError`."""
    both: dict[str, Any] = {}
    if delay is not None:
        both["delay_ms"] = parse_duration_ms(delay)
    if loss is not None:
        both["loss"] = parse_share(loss)
    if queue is not None:
        both["queue_ms"] = None if queue == "unbounded" else parse_duration_ms(queue)
    rates: dict[str, dict[str, Any]] = {
        "down": {} if down is None else {"rate_mbps": parse_rate_mbps(down), "trace": None},
        "up": {} if up is None else {"rate_mbps": parse_rate_mbps(up), "trace": None},
    }
    if not (both or rates["down"] or rates["up"]):
        return network
    try:
        return structs.replace(
            network,
            name="link" if network.name == "bare" else f"{network.name}, changed",
            source="given on the command line",
            down=structs.replace(network.down, **both, **rates["down"]),
            up=structs.replace(network.up, **both, **rates["up"]),
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def _run(
    network: Network, seed: int, way: UplinkKind | None, command: list[str]
) -> tuple[int, LinkReport]:
    choice = way or (UplinkKind.pasta if os.geteuid() else UplinkKind.veth)
    if choice is UplinkKind.veth and os.geteuid():
        raise InputError("--uplink veth needs root; leave it out")
    uplink = veth_uplink if choice is UplinkKind.veth else pasta_uplink
    with contextlib.ExitStack() as resources:
        spaces = resources.enter_context(namespaces())
        way_out = resources.enter_context(uplink(spaces))
        plug_client(spaces, way_out.subnet)
        # An unnamed file leaves nothing behind, even after kill -9.
        errors = resources.enter_context(tempfile.TemporaryFile())
        said = Path(f"/proc/self/fd/{errors.fileno()}")
        emulated = resources.enter_context(emulated_link(spaces, said))
        emulated.configure(network, seed)
        sys.stderr.write(
            f"dragstrip: {network.name}: {network.describe()}; {network.source}; leads "
            f"{way_out.beyond}{'' if emulated.realtime else '; normal priority'}\n"
        )
        watch_signals()
        with way_out.resolver():
            code = run_inside(spaces, way_out.subnet, command)
        return code, emulated.report()


def summary(report: LinkReport) -> str:
    """A line per direction."""
    return "".join(
        f"dragstrip: {side:4} {_facts(direction)}\n"
        for side, direction in (("down", report.down), ("up", report.up))
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
