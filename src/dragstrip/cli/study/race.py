"""`dragstrip race`: a study from options of the command line."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.options import AddressesOption, AsJson, Networks, StacksOption
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.cli.run_options import takes_run_options
from dragstrip.cli.study.conduct import present, shown
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.study.presets import find_network, find_stack, in_browser
from dragstrip.study.servers import parse_server, placed
from dragstrip.study.spec import StudySpec


@takes_run_options(after={"runs": ("out",), "ca": ("calibrate",), "controls": ("restarts",)})
def race(
    page: Annotated[
        list[str],
        typer.Argument(
            help="A recording, a name from `dragstrip list pages`, 'demo', or 'synth:64x10KB'.",
            metavar="PAGE...",
        ),
    ],
    network: Networks,
    stack: StacksOption,
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="Command that starts your own server, like './myserver {config}'. It serves every "
            "stack (default: our origin). For several servers, repeat it with NAME=COMMAND.",
            metavar="[NAME=]COMMAND",
        ),
    ] = None,
    browser: Annotated[
        str | None,
        typer.Option(
            help="Browser to use: 'firefox', or the path of your own Chromium (default: Chromium's "
            "headless shell).",
            metavar="NAME|PATH",
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="Blocks per page and network.")] = 5,
    frames: Annotated[
        bool,
        typer.Option(
            "--frames",
            help="Record frames, for visual metrics and a picture of the race.",
        ),
    ] = False,
    net_log: Annotated[
        bool, typer.Option("--net-log", help="Keep the browser's NetLog in the result folder.")
    ] = False,
    qlog: Annotated[
        bool, typer.Option("--qlog", help="Keep the origin's qlog of its connections.")
    ] = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Keep all packets and the keys that decrypt them.")
    ] = False,
    main_thread: Annotated[
        bool, typer.Option("--main-thread", help="Keep what the page's main thread did.")
    ] = False,
    repeat: Annotated[
        bool,
        typer.Option("--repeat", help="Race repeat visits too: tickets kept, cache cleared."),
    ] = False,
    addresses: AddressesOption = "recorded",
    done: Annotated[
        str,
        typer.Option(
            help="When a page counts as loaded: load, network-idle, selector:CSS (such as "
            "selector:#hero) or mark:NAME (default: what the page says, or else load).",
            metavar="load|network-idle|selector:CSS|mark:NAME",
        ),
    ] = "",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Show this metric too: fcp and others, or an object's start, first-byte, end "
            "or took, like object:/css/late.css:end. Repeatable (default: none)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the schedule and of random loss.")] = 0,
    live: Annotated[
        bool, typer.Option("--live", help="PAGE is a URL: race the live site, not a recording.")
    ] = False,
    ca: Annotated[
        Path | None,
        typer.Option(help="With --live: CA certificate (PEM) to trust as well (default: none)."),
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="Add controls: the first stack again (A/A), and again one round trip late.",
        ),
    ] = False,
    *,
    options: RunOptions,
    as_json: AsJson = False,
) -> int:
    """Race stacks on pages over networks; say which is faster."""
    spec = StudySpec(
        name="race",
        pages=page,
        networks=[find_network(n) for n in network],
        stacks=_stacks(stack, server or [], browser),
        connections=("first", "repeat") if repeat else ("first",),
        runs=runs,
        seed=seed,
        client=Client(
            frames=frames, net_log=net_log, qlog=qlog, pcap=pcap, main_thread=main_thread
        ),
        addresses=addresses,
        done=done,
        metrics=tuple(metric or ()),
        live=live,
        ca=ca,
        controls=controls,
    )
    study = options.adapt(spec).resolve(page_cache())
    options.check(study)
    folder = options.out or new_capsule(study.name)
    with shown(folder, watch=options.watch) as watcher:
        make_visits(study, folder, options, watcher=watcher)
    return present(folder, as_json=as_json)


def _stacks(names: list[str], servers: list[str], browser: str | None) -> list[Stack]:
    """Return the stacks by name, each with every given server and this browser."""
    asked = [find_stack(name) for name in names]
    if browser:
        asked = [in_browser(s, browser) for s in asked]
    if not servers:
        return asked
    brought = [parse_server(text) for text in servers]
    return [placed(s, server, find_stack(s.protocol)) for server in brought for s in asked]
