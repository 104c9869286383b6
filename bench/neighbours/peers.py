"""Compares dragstrip with other tools of today: one run of about 12 minutes on a quiet machine.

    python bench/neighbours/peers.py [ROUNDS, default 7] [--again EMULATOR] [--write]

As root. Emulators: our link, rattan (`cargo install rattan@0.1.1`) and Mahimahi (its mm-delay and
mm-link, of no registry) on PATH, netem in the guest's kernel. Then browsertime and Lighthouse of
npm, on the demo page over LTE. What is missing is left out, and the page says why. `--write` puts
the tables into docs/reference/peers.md and the values into peers.json. `--again` measures one
emulator alone, and keeps the other values.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "link"))
sys.path.append(str(Path(__file__).parents[1] / "visits"))

import browsertime
import lighthouse
from emulators import EMULATORS, PROGRAMS
from subjects import Rows, cell, measured, netem, quiet
from visits import made

import dragstrip
from dragstrip.browsers.registry import browser_version
from dragstrip.execution.guest.kernel.recipe import installed, name_of
from dragstrip.model.study import Study
from dragstrip.stats.median import median
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

_HERE = Path(__file__).parent
PAGE = _HERE.parents[1] / "docs" / "reference" / "peers.md"
NETWORK = "LTE"
LAST = "How it was measured"
_APART = "unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private --"
_SHOWN = {"mahimahi": "Mahimahi"}
_LOADS = 15
_DEFAULT_LOADS = 5


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("rounds", type=int, nargs="?", default=7)
    options.add_argument("--again", choices=["netem", *EMULATORS])
    options.add_argument("--write", action="store_true")
    asked = options.parse_args()
    began = time.monotonic()
    rows: Rows = []
    if asked.again:
        kept = json.loads(PAGE.with_suffix(".json").read_text())
        rows = links(asked.rounds, [asked.again])
        at = next(n for n, row in enumerate(kept) if row["subject"] == asked.again)
        kept = [row for row in kept if row["subject"] != asked.again]
        rows = [*kept[:at], *rows, *kept[at:]]
    else:
        for part in (links, browsers, paints):
            rows += part(asked.rounds)
            Path(tempfile.gettempdir(), "peers.json").write_text(json.dumps(rows, indent=1))
    minutes = (time.monotonic() - began) / 60
    tables = {
        "Emulators": list(link_table(rows, asked.rounds)),
        "browsertime": list(browser_table(rows)),
        "Lighthouse's simulation": list(paint_table(rows)),
        LAST: [
            made_by(asked.rounds, asked.again, minutes),
            *(missing_line(r) for r in rows if "error" in r),
        ],
    }
    for heading, lines in tables.items():
        print(f"## {heading}\n", *lines, sep="\n")
    if asked.write:
        text = PAGE.read_text()
        for heading, lines in tables.items():
            text = replaced(text, heading, lines, keep=bool(asked.again) and heading == LAST)
        PAGE.write_text(text)
        PAGE.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")


def links(rounds: int, names: Collection[str] = ("netem", *EMULATORS)) -> Rows:
    """Figures of each emulator, in turns, so that all see the same hours of the machine."""
    rows: Rows = []
    script = str(_HERE / "emulators.py")
    for _ in range(rounds):
        for name in EMULATORS:
            if name in names and shutil.which(PROGRAMS[name]):
                rows += measured(name, [*_APART.split(), sys.executable, script, name, "1"])
        if "netem" in names:
            rows += netem(1, "PEERS")
    absent = (name for name in EMULATORS if name in names and not shutil.which(PROGRAMS[name]))
    rows += [{"subject": name, "error": f"{PROGRAMS[name]} is not on PATH"} for name in absent]
    built = installed()
    versions = {
        "dragstrip": dragstrip.__version__,
        "rattan": said("rattan", "--version").removeprefix("rattan "),
        "mahimahi": os.environ.get("MAHIMAHI", "of no known version"),
        "netem": f"of Linux {name_of(built).split('-')[1]}" if built else "",
    }
    return [{**row, "version": versions[row["subject"]]} for row in rows]


def said(*argv: str) -> str:
    """What a program prints first; empty without the program."""
    if not shutil.which(argv[0]):
        return ""
    done = subprocess.run(argv, capture_output=True, text=True)
    return done.stdout.strip().partition("\n")[0]


def browsers(_rounds: int) -> Rows:
    """Wall time and page loads of browsertime and our own, over one network."""
    rows: Rows = []
    with tempfile.TemporaryDirectory() as folder:
        study = study_in(Path(folder))
        visits, ended_s = made(study, Path(folder) / "made")
        valid = [visit for visit in visits if visit.stack == "h2" and visit.valid]
        whole_s = ended_s[-1] - ended_s[1]
        rows.append(
            {
                "subject": "dragstrip, races of h1 and h2",
                "seconds": whole_s / (len(visits) - 2),
                "plt_ms": [visit.plt_ms for visit in valid],
                "fcp_ms": [visit.fcp_ms for visit in valid],
                "lcp_ms": [visit.lcp_ms for visit in valid],
                "version": dragstrip.__version__,
            }
        )
        if why := browsertime.missing():
            return [*rows, {"subject": "browsertime", "error": why}]
        for tuned, loads in ((True, _LOADS), (False, _DEFAULT_LOADS)):
            name = "browsertime, " + ("as fast as its options make it" if tuned else "defaults")
            found = browsertime.measured(
                study.pages[0], loads, tuned=tuned, network=find_network(NETWORK)
            )
            print(name, found, flush=True)
            rows.append({"subject": name, **found._asdict(), "version": browsertime.VERSION})
    return rows


def paints(rounds: int) -> Rows:
    """Paints that Lighthouse computes, and those that it sees behind our link."""
    if why := lighthouse.missing():
        return [{"subject": "Lighthouse", "error": why}]
    rows: Rows = []
    with tempfile.TemporaryDirectory() as folder:
        page, network = study_in(Path(folder)).pages[0], find_network(NETWORK)
        for way in (lighthouse.simulated, lighthouse.observed):
            found = way(page, network, rounds)
            print(way.__name__, found, flush=True)
            values = {f"{name}_ms": [each[name] for each in found] for name in lighthouse.AUDITS}
            name = f"Lighthouse, {way.__name__}"
            rows.append({"subject": name, **values, "version": lighthouse.VERSION})
    return rows


def study_in(folder: Path) -> Study:
    spec = StudySpec(
        name="peers",
        pages=["demo"],
        networks=[find_network(NETWORK)],
        stacks=[find_stack("h1"), find_stack("h2")],
        runs=_LOADS + 1,
        seed=1,
        controls=False,
    )
    return spec.resolve(folder)


def link_table(rows: Rows, rounds: int) -> Iterable[str]:
    names = list(dict.fromkeys(row["subject"] for row in rows if "figure" in row))
    figures = list(dict.fromkeys(row["figure"] for row in rows if "figure" in row))

    def of(name: str, figure: str) -> Rows:
        mine = [r for r in rows if r["subject"] == name and r.get("figure") == figure]
        return quiet(mine, rounds)

    def shown(what: str, tell: Callable[[Rows], str]) -> str:
        return f"| {what} | {' | '.join(tell(of(name, figure)) for name in names)} |"

    versions = {row["subject"]: row["version"] for row in rows if "figure" in row}
    titles = (f"{_SHOWN.get(name, name)} {versions[name]}" for name in names)
    yield f"| figure | {' | '.join(titles)} |"
    yield "|---" * (len(names) + 1) + "|"
    for figure in figures:
        yield shown(figure, cell)
    for figure in figures:
        yield shown(f"CPU of its processes, {figure}", cpu)


def cpu(runs: Rows) -> str:
    shares = [run["cpu"] for run in runs if "cpu" in run]
    return f"{statistics.median(shares):.1%}".replace("%", " %") if shares else "in the kernel"


def browser_table(rows: Rows) -> Iterable[str]:
    yield "| | version | loads a minute | page load over h2, ms (95 %) | loads |"
    yield "|---|---|---|---|---|"
    for row in rows:
        if "seconds" in row:
            minute = f"{60 / row['seconds']:.1f}"
            times = row["plt_ms"]
            cells = row["subject"], row["version"], minute, middle(times), str(len(times))
            yield f"| {' | '.join(cells)} |"


def paint_table(rows: Rows) -> Iterable[str]:
    paints = (f"{which} contentful paint, ms (95 %)" for which in ("first", "largest"))
    yield f"| | version | {' | '.join(paints)} | loads |"
    yield "|---|---|---|---|---|"
    for row in rows:
        if "fcp_ms" in row:
            fcp, lcp = row["fcp_ms"], row["lcp_ms"]
            cells = row["subject"], row["version"], middle(fcp), middle(lcp), str(len(fcp))
            yield f"| {' | '.join(cells)} |"


def middle(values: Sequence[float]) -> str:
    """``1,894 (1,890 to 1,901)``"""
    found = median(values)
    interval = "" if found.low is None else f" ({found.low:,.0f} to {found.high:,.0f})"
    return f"{found.value:,.0f}{interval}"


def made_by(rounds: int, again: str | None, minutes: float) -> str:
    how = f"{rounds} --again {again}" if again else f"{rounds}"
    return (
        f"`python bench/neighbours/peers.py {how} --write` in {minutes:.1f} minutes on "
        f"{time.strftime('%-d %B %Y')}: {os.cpu_count()} cores, kernel {platform.release()}, "
        f"{browser_version()}."
    )


def missing_line(row: dict[str, str]) -> str:
    return f"\n{row['subject']}: {row['error']}."


def replaced(text: str, heading: str, lines: Iterable[str], *, keep: bool = False) -> str:
    """The page with this section's part up to the first empty line replaced, or added to."""
    pattern = rf"(?<=^## {re.escape(heading)}\n\n)(.+\n)+"
    new, count = re.subn(
        pattern, lambda old: old[0] * keep + "\n".join(lines) + "\n", text, flags=re.MULTILINE
    )
    assert count == 1, heading
    return new


if __name__ == "__main__":
    main()
