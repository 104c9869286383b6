"""Are visits the same when blocks run at once, and how many more fit into an hour?

uv run python bench/visits/jobs.py [--network 0.468mbit/0.468mbit/131ms/0%/2000ms] [--runs 20]
    [--page light] [--stack h2] [--out DIR]

The network is a slow one whose queue holds what comes (a short one drops other packets whenever a
thread wakes later, and load times differ by 10 % by themselves); or, as
`50mbit/50mbit/109ms/2%/200ms`, one that random loss makes slow. A light page, and the same page
with scripts that keep the browser busy, are each run with one job and with `auto`, half of the runs
in turn, so that a drift of the machine meets both alike. The two are compared in each page, stack
and metric, block by block, because a block has the same losses either way. Results are the ratio
auto / one with its 95 % interval, and two one-sided tests for equivalence within `MARGIN` at 5 %.
Visits per hour are given with the starts of testbeds, of which this has two for each page and way,
and without, as in a long campaign.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from dragstrip.execution.concurrency import RealTimeConcurrency, parse_jobs
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.standin import standin
from dragstrip.pages.made.assembly import make
from dragstrip.stats.block_ratio import block_ratio, matched
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

MARGIN = 0.02
PARTS = 2
JOBS = {"one": 1, "auto": parse_jobs("auto")}
METRICS = ("plt_ms", "fcp_ms", "lcp_ms", "fvc_ms", "lvc_ms", "vc85_ms", "speed_index_ms")
BUSY_MS = {"light": 0.0, "scripts": 200.0}
"""How long each of the page's seven scripts computes."""


class Took(NamedTuple):
    """Seconds, with the starts of testbeds and without."""

    whole: float = 0.0
    visiting: float = 0.0


class Row(Struct, frozen=True):
    page: str
    stack: str
    metric: str
    n: int
    """Blocks whose visits are valid both ways."""
    ratio: float
    low: float
    high: float
    p: float
    """The p of a difference of `MARGIN` or more."""


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory() as cache:
        print(f"{asked.network}, {asked.runs} runs")
        for name in asked.page or BUSY_MS:
            bench(page(name, BUSY_MS[name], Path(cache)), asked, Path(cache))


def bench(path: Path, asked: argparse.Namespace, cache: Path) -> None:
    study = StudySpec(
        name="jobs",
        pages=[str(path)],
        networks=[find_network(asked.network)],
        stacks=[find_stack(name) for name in asked.stack or ("h2", "h3")],
        runs=asked.runs,
        seed=1,
        client=Client(frames=True),
    ).resolve(cache)
    made, took_s = in_turn(study)
    for name, visits in made.items():
        if asked.out:
            asked.out.mkdir(parents=True, exist_ok=True)
            lines = (msgspec.json.encode(v) + b"\n" for v in visits)
            (asked.out / f"{study.pages[0].name}-{name}.jsonl").write_bytes(b"".join(lines))
        print(summary(name, visits, took_s[name]))
    more = len(made["auto"]) / len(made["one"])
    whole, visiting = (
        more * one / auto for one, auto in zip(took_s["one"], took_s["auto"], strict=True)
    )
    print(
        f"auto makes {whole:.2f} times the visits per hour, {visiting:.2f} times without the "
        "starts of testbeds"
    )
    for row in compare(study, made):
        verdict = "equivalent" if row.p < 0.05 else "not shown"
        print(
            f"{row.page:28} {row.stack:6} {row.metric:15} auto / one {row.ratio:.4f} "
            f"({row.low:.4f} to {row.high:.4f}), n {row.n}: {verdict} "
            f"within {MARGIN:.0%} (p {row.p:.4f})"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="0.468mbit/0.468mbit/131ms/0%/2000ms")
    parser.add_argument("--stack", action="append")
    parser.add_argument("--page", action="append", choices=BUSY_MS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--out", type=Path, help="keep the visits, a file of JSON lines each")
    return parser.parse_args()


def page(name: str, busy_ms: float, folder: Path) -> Path:
    plain = standin("jobs", objects=30, size=300_000, hosts=4, source="made for this bench")
    busy = tuple(
        structs.replace(o, busy_ms=busy_ms if o.kind == "script" else 0.0) for o in plain.objects
    )
    recording = make(structs.replace(plain, objects=busy))
    return write_page(folder / f"{name}.har.zip", structs.replace(recording, name=name)).path


def in_turn(study: Study) -> tuple[dict[str, list[Visit]], dict[str, Took]]:
    """The visits of each way and the seconds they took."""
    made: dict[str, list[Visit]] = {name: [] for name in JOBS}
    took_s = dict.fromkeys(JOBS, Took())
    ends = [round(study.runs * part / PARTS) for part in range(PARTS + 1)]
    for begin, end in pairwise(ends):
        # Blocks of an earlier part count as made, so that a part visits only its own.
        for name, jobs in JOBS.items():
            part = structs.replace(study, runs=end, reruns=0)
            schedule = Schedule(
                part, [v for v in made[name] if int(v.block.split("|")[-1]) < begin]
            )
            concurrency = RealTimeConcurrency(part, jobs, made[name])
            began, before = time.time(), len(made[name])
            run_here(
                schedule, lambda v, _, made=made[name]: made.append(v), concurrency=concurrency
            )
            ended, first_us = time.time(), min(v.started_us for v in made[name][before:])
            whole, visiting = took_s[name]
            took_s[name] = Took(whole + ended - began, visiting + ended - first_us / 1e6)
    return made, took_s


def summary(name: str, visits: Iterable[Visit], took_s: Took) -> str:
    every = list(visits)
    bad = [v for v in every if not v.valid]
    reasons = ", ".join(sorted({v.verdict for v in bad}))
    beside = sum(v.beside for v in every) / len(every)
    busy = [v.host.busy_share for v in every if v.host]
    late = [v.link.down.lateness_p99_us or 0 for v in every if v.link]
    return (
        f"{name}: {len(every)} visits in {took_s.whole:.0f} s, of these "
        f"{took_s.whole - took_s.visiting:.0f} s for starts; "
        f"{len(every) / took_s.whole * 3600:.0f} an hour; "
        f"{beside:.1f} others beside each on average; processor busy {sum(busy) / len(busy):.0%}; "
        f"1 % of a visit's packets down left later than {statistics.median(late):.0f} us (median), "
        f"{max(late):.0f} us (worst); "
        f"{len(bad)} invalid {f'({reasons})' if bad else ''}"
    )


def compare(study: Study, made: dict[str, list[Visit]]) -> list[Row]:
    rows = []
    for page in study.pages:
        for stack in study.stacks:
            for metric in METRICS:
                one, auto = (
                    {v.block: x for v in made[name] if (x := value(v, metric, page.name, stack))}
                    for name in JOBS
                )
                pairs = matched(one, auto)
                if len(pairs[0]) < 2:
                    continue
                found = block_ratio(*pairs)
                low, high = found.interval() or (float("nan"), float("nan"))
                row = (page.name, stack.name, metric, found.n, found.value, low, high)
                rows.append(Row(*row, found.p_apart(MARGIN)))
    return rows


def value(visit: Visit, metric: str, page: str, stack: Stack) -> float | None:
    if not visit.valid or (visit.page, visit.stack) != (page, stack.name):
        return None
    holder = visit if metric in Visit.__struct_fields__ else visit.visual
    found = getattr(holder, metric, None)
    return None if found is None else float(found)


if __name__ == "__main__":
    main()
