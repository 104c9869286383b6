"""`dragstrip why`: explains where a difference between two stacks comes from."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec import structs
from rich.console import Console

from dragstrip.cli import exits
from dragstrip.cli.options import AddressesOption, AsJson, DryRun
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.cli.run_options import takes_run_options
from dragstrip.cli.study.conduct import exit_code, redraw, shown
from dragstrip.cli.study.dry_run import dry_run
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.addresses import Addresses, told
from dragstrip.model.errors import InputError
from dragstrip.model.stack import Stack
from dragstrip.model.study import CellKey, Client, Study
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.study.bridge import RUNS, bridge_study
from dragstrip.study.file import read_study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

if TYPE_CHECKING:
    from dragstrip.results.compare.attribution import Why
    from dragstrip.results.compare.largest import PairCells


@takes_run_options(
    without=("client", "restarts", "shard", "cluster", "admit_other_machines", "watch")
)
def why(
    target: Annotated[
        list[str],
        typer.Argument(
            help="Pages (a recording, 'demo', 'synth:64x10KB'), a study file, or a result folder: "
            "its largest differences.",
            metavar="PAGE...|STUDY.toml|DIR",
        ),
    ],
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="With pages: a name or values, as for race (default with a study: its networks)."
        ),
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            help="Give two: from the first to the second (default: the study's two stacks)."
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(
            help="Tell apart only these factors: window, pacing, congestion, records, tcp, tls, "
            "handshake, key-exchange, certificate-kind, chain-length, certificates, resumption, "
            "early-data, datagram, acks, flow-control, priorities, discovery, server, browser, "
            "loss, names (default: all that differ)."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="Metric to explain, such as ttfb or fcp.")] = "plt",
    runs: Annotated[
        int, typer.Option(help="Most blocks per cell; a cell stops early once it is decided.")
    ] = RUNS,
    largest: Annotated[
        int,
        typer.Option(help="With a result folder: how many of its largest differences to explain."),
    ] = 3,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="With pages: also race repeat visits.")
    ] = False,
    addresses: AddressesOption = "recorded",
    seed: Annotated[int, typer.Option(help="Seed of the schedule and of random loss.")] = 0,
    frames: Annotated[
        bool, typer.Option("--frames", help="With pages: also record frames, for visual metrics.")
    ] = False,
    controls: Annotated[
        bool,
        typer.Option(
            help="Add controls: the first stack again (A/A), and again one round trip late."
        ),
    ] = True,
    *,
    options: RunOptions,
    dry: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Find out which properties make two stacks differ."""
    from dragstrip.results.compare.gate import (
        metric_name,  # imports NumPy and Polars, which load slowly
    )

    wanted = metric_name(metric)
    if len(stack or ()) not in (0, 2):
        raise InputError("give two stacks, like --stack h2 --stack h3, or none with a study")
    folder = Path(target[0])
    if (folder / MANIFEST).exists() and Capsule.open(folder).manifest.study.bridge:
        return _present(folder, wanted, as_json=as_json)
    asked = list(
        _asked(target, network or (), stack or (), largest, wanted)
        if (folder / MANIFEST).exists() or target[0].endswith(".toml")
        else _pages(
            target, network or (), stack or (), seed, addresses, repeat=repeat, frames=frames
        )
    )
    studies = [
        options.adapt(
            bridge_study(
                base, a, b, factors=factor or (), runs=runs, cells=cells, controls=controls
            )
        )
        for base, a, b, cells in asked
    ]
    options.check(studies[0])
    first = options.out or new_capsule(studies[0].name)
    code = exits.DONE
    for number, study in enumerate(studies):
        place = first if number == 0 else first.with_name(f"{first.name}-{number + 1}")
        if dry:
            code = dry_run(study, structs.replace(options, out=place))
            continue
        with shown(place) as watcher:
            make_visits(study, place, options, watcher=watcher)
        code = _present(place, wanted, as_json=as_json) or code
    return code


_Asked = tuple[Study, Stack, Stack, Sequence[CellKey]]


def _pages(
    pages: Sequence[str],
    networks: Sequence[str],
    names: Sequence[str],
    seed: int,
    addresses: Addresses,
    *,
    repeat: bool,
    frames: bool,
) -> Iterator[_Asked]:
    if not networks or not names:
        raise InputError("pages need --network and two --stack")
    a, b = (find_stack(name) for name in names)
    if a.name == b.name:
        raise InputError(f"stack {a.name!r} is given twice: a difference needs two stacks")
    base = StudySpec(
        name="why",
        pages=pages,
        networks=[find_network(n) for n in networks],
        stacks=[a, b],
        connections=("first", "repeat") if repeat else ("first",),
        runs=1,
        seed=seed,
        addresses=addresses,
        client=Client(frames=frames),
    ).resolve(page_cache())
    yield base, a, b, ()


def _asked(
    target: Sequence[str], networks: Sequence[str], names: Sequence[str], most: int, metric: str
) -> Iterator[_Asked]:
    """Yield the studies that a study file or a result folder leads to."""
    if len(target) > 1 or networks:
        raise InputError(f"{target[0]} has its own pages and networks: give no others")
    if target[0].endswith(".toml"):
        study = read_study(Path(target[0]), page_cache())
        a, b = _two(study, names)
        yield study, a, b, ()
        return
    for one in _of_capsule(Path(target[0]), names, most, metric):
        yield one.study, one.a, one.b, one.cells


def _two(study: Study, names: Sequence[str]) -> tuple[Stack, Stack]:
    known = {s.name: s for s in study.stacks}
    chosen = list(names) or list(known)
    if len(chosen) != 2:
        raise InputError(f"{study.name} has {len(known)} stacks: name two of {', '.join(known)}")
    for name in chosen:
        if name not in known:
            raise InputError(f"{study.name} has no stack {name!r}; it has {', '.join(known)}")
    return known[chosen[0]], known[chosen[1]]


def _of_capsule(
    folder: Path, names: Sequence[str], most: int, metric: str
) -> "Sequence[PairCells]":
    from dragstrip.results.compare.largest import largest_differences

    capsule = Capsule.open(folder)
    pair = _two(capsule.manifest.study, names) if names else None
    return largest_differences(capsule, metric, most, pair)


def _present(folder: Path, metric: str, *, as_json: bool) -> int:
    """Redraw the report of a capsule with a bridge and print its answer."""
    from dragstrip.report.terminal.why import render
    from dragstrip.results.compare.attribution import why as answer
    from dragstrip.results.tables.build import scan

    capsule = Capsule.open(folder)
    study = capsule.manifest.study
    report = redraw(capsule)
    table = scan(capsule, "visits")
    result: Why = answer(study, table, metric)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    console = Console(stderr=True)
    console.print(render(result))
    if said := told(study.pages, study.addresses):
        console.print(said, highlight=False)
    console.print(f"report: {report}", highlight=False)
    return exit_code(structs.replace(study, controls=()), table)
