"""Options that several commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragstrip.study.devices import DEVICES
from dragstrip.study.presets import networks, stacks


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin with `incomplete`, for shells that complete words."""
    return [name for name in names if name.startswith(incomplete)]


def network_names(incomplete: str) -> list[str]:
    """Return the networks that begin with `incomplete`, for shells that complete words."""
    return beginning(networks(), incomplete)


def stack_names(incomplete: str) -> list[str]:
    """Return the stacks that begin with `incomplete`, for shells that complete words."""
    return beginning(stacks(), incomplete)


def device_names(incomplete: str) -> list[str]:
    """Return the devices that begin with `incomplete`, for shells that complete words."""
    return beginning(DEVICES, incomplete)


Networks = Annotated[
    list[str],
    typer.Option(
        "--network",
        help="A name (`dragstrip list networks`); rate/one-way delay, symmetric and lossless "
        "(100mbit/50ms); down/up/delay/loss/queue, each per direction "
        "(10.5mbit/2.8mbit/37ms/0%/200ms); or trace:FILE, recorded rates "
        "(docs/howto/traces.md). ipv6: before any of them races over IPv6 (docs/howto/ipv6.md). "
        "Repeat it for several.",
        autocompletion=network_names,
        show_default=False,
    ),
]
StacksOption = Annotated[
    list[str],
    typer.Option(
        "--stack",
        help="A name (`dragstrip list stacks`). Repeat it: the first is the reference.",
        autocompletion=stack_names,
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Result folder; an existing one resumes. Default: a new one in capsules/."),
]
Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--no-calibrate",
        help="Measure each link before its first visit (default: once per result folder). "
        "On a cluster also: make an A/A control on each machine.",
    ),
]
Jobs = Annotated[
    str | None,
    typer.Option(
        help="Blocks that run in parallel: a number, or auto (default: 1; in virtual time one per "
        "core; with --cluster auto, on each machine)."
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        help="Run only this shard of the blocks, like 3/16 (default: all). `dragstrip merge` joins "
        "shards."
    ),
]
Restarts = Annotated[
    int | None,
    typer.Option(
        help="Spread the blocks over this many starts of testbed and browsers, and report how much "
        "the starts differ (default: 1).",
        min=1,
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="Make the visits on a Dask cluster: local:N (workers here), the scheduler's address "
        "(tcp://HOST:8786), or a name in Dask's configuration (default: no cluster). See "
        "docs/howto/cluster.md.",
        metavar="ADDRESS|local:N|NAME",
    ),
]
AdmitOthers = Annotated[
    bool,
    typer.Option(
        "--admit-other-machines",
        help="With --cluster: also use machines whose hardware or software differs from the "
        "majority's.",
    ),
]
WatchOption = Annotated[
    bool,
    typer.Option("--watch", help="Show a live page of the visits, on this machine."),
]
Virtual = Annotated[
    bool,
    typer.Option(
        "--virtual",
        help="Race in virtual time, in which every machine gives the same result.",
    ),
]
Computing = Annotated[
    bool | None,
    typer.Option(
        "--computing/--no-computing",
        help="In virtual time: whether browser and server take time for what they compute, or the "
        "network alone decides (default: they do; the load generator predicts the network alone).",
        show_default=False,
    ),
]
ByClient = Annotated[
    str | None,
    typer.Option(
        "--client",
        help="What loads the pages: a browser, or 'loader', the load generator, which predicts "
        "Chromium (default: browser). See docs/howto/load-generator.md.",
        metavar="browser|loader",
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="How slow the client's processor is: 4x (four times slower than this machine), or a "
        "name from `dragstrip list devices` (default: as fast as this machine).",
        autocompletion=device_names,
        metavar="Nx|NAME",
    ),
]
AddressesOption = Annotated[
    Literal["recorded", "one-each"],
    typer.Option(
        "--addresses",
        help="recorded: hosts share addresses and certificates as in the page's recording, where "
        "it tells. one-each: every host has its own.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only print what it would do, and how long that would take."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
