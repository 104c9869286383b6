"""`dragstrip link`: runs any program behind the emulated link."""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from dragstrip.cli.machine.link_control import Steering
from dragstrip.cli.machine.link_options import (
    both,
    changed,
    each,
    find_carried,
    find_profile,
    parse_exposed,
    parse_ports,
    profiles,
)
from dragstrip.cli.machine.link_summary import LinkSummary, summarise, summary
from dragstrip.cli.options import beginning, network_names
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport
from dragstrip.study.tracefiles.network import traced
from dragstrip.testbed.net.link import PortRange, emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.uplink.command import run_inside, watch_signals
from dragstrip.testbed.uplink.expose import ExposedPort, doors, expose
from dragstrip.testbed.uplink.lines import answering
from dragstrip.testbed.uplink.pasta import pasta_uplink
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink

CONTROL = "DRAGSTRIP_CONTROL"
"""Name of the environment variable that tells the program behind the link where it can change the
link."""


def _profile_names(incomplete: str) -> list[str]:
    return beginning((n.name for n in profiles()), incomplete)


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
        str | None,
        typer.Option(
            help="Start from this network (`dragstrip list networks`); other options override it "
            "(default: bare, no emulation).",
            autocompletion=network_names,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Start from another tool's preset, by name (devtools-slow-3g, lighthouse-slow-4g, "
            "wpt-cable) or as the tool writes it ('Slow 3G'); other options override it "
            "(default: none).",
            autocompletion=_profile_names,
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            help="Play the rates recorded in this file, Mahimahi's or a throughput log "
            "(docs/howto/traces.md), instead of the network's (default: none).",
            metavar="FILE",
        ),
    ] = None,
    ports: Annotated[
        list[str] | None,
        typer.Option(
            help="Shape only packets from or to these ports, like 443,8000-8100 (default: all). "
            "Repeat it for several.",
            metavar="PORTS",
        ),
    ] = None,
    exposed: Annotated[
        list[str] | None,
        typer.Option(
            "--expose",
            help="Lead this TCP port of your machine's loopback to the server that the program "
            "starts on it, through the link; 18080:8080 if the ports differ, 8443/udp for UDP "
            "(default: none). Repeat it for several.",
            metavar="PORT",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            help="Make this Unix socket; JSON lines sent there change rate, delay, loss, queue or "
            "outage while the program runs (docs/howto/link.md; default: none).",
            metavar="SOCKET",
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print what the link did as JSON, in the last line of stdout."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random loss.")] = 0,
    uplink: Annotated[
        UplinkKind | None,
        typer.Option(help="How packets leave the link (default: veth as root, else pasta)."),
    ] = None,
) -> None:
    """Run a program behind the emulated link."""
    if network and profile:
        raise InputError("--network and --profile cannot be combined: give one")
    start = find_profile(profile) if profile else find_carried(network or "bare")
    asked = changed(
        traced(start, trace) if trace else start,
        rate=each(down, up),
        delay=both(delay),
        loss=both(loss),
        queue=both(queue),
    )
    for place, step in enumerate(asked.at):
        if step.rebind == "address":
            raise InputError(
                f"network {asked.name!r}: at[{place}].rebind: nothing routes another address back "
                'to the program: give rebind = "port"'
            )
    if not shutil.which(command[0]):
        raise InputError(f"{command[0]!r}: no such program")
    shaped, wanted = parse_ports(ports or ()), parse_exposed(exposed or ())
    report, told = _run(asked, seed, uplink, command, shaped, wanted, control)
    sys.stderr.write(summary(report))
    if json:
        # The program may have left its last line unfinished.
        sys.stdout.write(f"\n{msgspec.json.encode(told).decode()}\n")
        sys.stdout.flush()
    sys.exit(told.exit_code)


def _run(
    network: Network,
    seed: int,
    way: UplinkKind | None,
    command: list[str],
    ports: list[PortRange],
    exposed: Sequence[ExposedPort],
    socket: Path | None,
) -> tuple[LinkReport, LinkSummary]:
    if network.resolver:
        raise InputError(
            f"network {network.name!r} has a resolver (dns), and `dragstrip link` asks those of "
            "this machine: give a network without dns"
        )
    choice = way or (UplinkKind.pasta if os.geteuid() else UplinkKind.veth)
    if choice is UplinkKind.veth and os.geteuid():
        raise InputError("--uplink veth needs root; leave it out")
    uplink = veth_uplink if choice is UplinkKind.veth else pasta_uplink
    with contextlib.ExitStack() as resources:
        opened = resources.enter_context(doors(exposed))
        spaces = resources.enter_context(namespaces())
        way_out = resources.enter_context(uplink(spaces))
        plug_client(spaces, way_out.subnet)
        # A file without a name leaves no trace, even after kill -9.
        errors = resources.enter_context(tempfile.TemporaryFile())
        said = Path(f"/proc/self/fd/{errors.fileno()}")
        emulated = resources.enter_context(emulated_link(spaces, said))
        # The ports are exposed before signals are blocked: a process inherits blocked signals.
        resources.enter_context(expose(way_out, opened))
        emulated.configure(network, seed, ports=ports)
        sys.stderr.write(
            f"dragstrip: {network.name}: {network.describe()}; {network.source}; leads "
            f"{way_out.beyond}{'' if emulated.realtime else '; normal priority'}\n"
        )
        steered = Steering(emulated, network, seed, ports)
        watch_signals()
        began_s = time.monotonic()
        emulated.start()
        with contextlib.ExitStack() as running:
            running.enter_context(way_out.resolver())
            if socket:
                place = socket.absolute()
                running.enter_context(answering(place, steered.answer))
                os.environ[CONTROL] = str(place)
            code = run_inside(spaces, way_out.subnet, command)
        report = emulated.report()
        told = summarise(
            steered.network,
            report,
            emulated.unshaped(),
            exit_code=code,
            duration_s=round(time.monotonic() - began_s, 3),
            changes=steered.changes,
            realtime=emulated.realtime,
        )
        return report, told
