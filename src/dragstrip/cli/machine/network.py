"""`dragstrip network show NETWORK`: a network's values, and its traces as pictures."""

import sys
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from dragstrip.cli.options import network_names
from dragstrip.model.effects import STAGES
from dragstrip.report.words.traces import delay_line, delays, outages, sparkline
from dragstrip.study.presets import find_network

app = typer.Typer(help="Show a network; draw its traces.", no_args_is_help=True)


@app.callback()
def network() -> None:
    """Show a network; draw its traces."""


@app.command()
def show(
    network: Annotated[
        str,
        typer.Argument(
            help="A name (`dragstrip list networks`), values like 100mbit/50ms, or trace:FILE; "
            "each may have ipv6: before it.",
            metavar="NETWORK",
            autocompletion=network_names,
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the network as JSON.")] = False,
) -> None:
    """Print what a network does, and draw its traces."""
    found = find_network(network)
    if json:
        text = msgspec.json.format(msgspec.json.encode(found), indent=2)
        sys.stdout.buffer.write(text + b"\n")
    console = Console(stderr=json)
    for line in (f"[bold]{found.name}[/bold]", found.describe(), found.source):
        console.print(line, highlight=False, soft_wrap=True)
    traces = {side: found.direction(side).trace for side in STAGES}
    alike = traces["down"] == traces["up"]
    for side, trace in traces.items():
        if trace and not (alike and side == "up"):
            ways = "down and up" if alike else side
            console.print(f"\n{ways}: {trace.lap_ms / 1000:g} s, then again", highlight=False)
            for line in (*sparkline(trace, console.width), outages(trace)):
                console.print(line, highlight=False)
    recorded = {side: found.direction(side).delay_trace for side in STAGES}
    alike = recorded["down"] == recorded["up"]
    for side, course in recorded.items():
        if course and not (alike and side == "up"):
            ways = "down and up" if alike else side
            console.print(
                f"\ndelay {ways}: {course.lap_ms / 1000:g} s, then again", highlight=False
            )
            for line in (*delay_line(course, console.width), delays(course)):
                console.print(line, highlight=False)
