"""Fidelity of the emulated link beside kernel netem's: `uv run python bench/link [RUNS]`, as root.

Writes docs/reference/link-fidelity.{md,json,svg}. netem runs in the kernel of virtual time
(`dragstrip virtual install`), by the machine's clock; without that its column is missing and says
why. Runs in which the hypervisor took CPU away are made again, at most twice. Takes ten minutes on
a quiet machine.
"""

import contextlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair
from subjects import QUIET_STEAL, Rows, cell, measured, netem, quiet

_HERE = Path(__file__).parent
_DOCS = _HERE.parents[1] / "docs" / "reference"
# `env` starts the program, so that not even its file is opened with root's rights.
_AS_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups env".split()
_BURN = "while True: pass"
_ROUNDS = 3


@contextlib.contextmanager
def one_core_busy() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", _BURN]) as burner:
        try:
            yield
        finally:
            burner.kill()


def as_nobody(script: list[str]) -> list[str]:
    """The script run by an ordinary user, with this interpreter or, if that is not readable, the
    system's."""
    folders = (str(_HERE.parents[1] / "src"), sysconfig.get_path("purelib"))
    start = [*_AS_NOBODY, f"PYTHONPATH={os.pathsep.join(folders)}"]
    works = subprocess.run([*start, sys.executable, "-c", ""], capture_output=True).returncode == 0
    return [*start, sys.executable if works else "/usr/bin/python3", *script]


def until_quiet(runs: int, measure: Callable[[], Rows]) -> Rows:
    """Runs until each figure has been taken `runs` times in quiet, or the rounds are spent."""
    rows: Rows = []
    for _ in range(_ROUNDS):
        rows += measure()
        calm = Counter(r["figure"] for r in rows if "figure" in r and r["steal"] <= QUIET_STEAL)
        if all(calm[r["figure"]] >= min(runs, 3) for r in rows if "figure" in r):
            break
    return rows


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    began = time.monotonic()
    ours = [sys.executable, str(_HERE / "ours.py"), str(runs)]
    rows = until_quiet(runs, lambda: measured("dragstrip", ours))
    rows += until_quiet(runs, lambda: netem(runs, "FIGURES"))
    with one_core_busy():
        rows += until_quiet(runs, lambda: measured("dragstrip, a core busy", ours))
    rows += until_quiet(runs, lambda: measured("dragstrip, rootless", as_nobody(ours[1:])))
    took_s = time.monotonic() - began
    _DOCS.joinpath("link-fidelity.json").write_text(json.dumps(rows, indent=1) + "\n")
    _DOCS.joinpath("link-fidelity.md").write_text(document(rows, runs, took_s))
    picture(rows).save(str(_DOCS / "link-fidelity.svg"))
    print(document(rows, runs, took_s))


def document(rows: Rows, runs: int, took_s: float) -> str:
    subjects = list(dict.fromkeys(r["subject"] for r in rows))
    names = list(dict.fromkeys(r["figure"] for r in rows if "figure" in r))
    lines = [
        "# How exact the link is",
        "",
        f"{os.cpu_count()} cores, kernel {platform.release()}. Delay errors are p50 / p99 / max of "
        "a run, from interface to interface by the kernel's stamps. Medians of the runs in which "
        f"the hypervisor took at most {QUIET_STEAL:.0%} of the CPU, of all if fewer than "
        "3; brackets: how many, their largest CPU steal, the host's median busy share. netem is "
        "that of the kernel of virtual time, by the machine's clock. Rates are layer 3.",
        f"Made by `python bench/link {runs}` in {took_s / 60:.1f} minutes.",
        "",
        "![Delay error](link-fidelity.svg)",
        "",
        "| figure | " + " | ".join(subjects) + " |",
        "|---" * (len(subjects) + 1) + "|",
    ]
    for name in names:
        cells = [
            cell(quiet([r for r in rows if r["subject"] == s and r.get("figure") == name], runs))
            for s in subjects
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [f"\n{r['subject']}: {r['error']}" for r in rows if "error" in r]
    return "\n".join(lines) + "\n"


def picture(rows: Rows) -> Any:
    """Delay error, p50 and p99, of every run."""
    points = [
        {
            "subject": row["subject"],
            "delay": row["figure"].removeprefix("delay "),
            "of": quantile,
            "error in us": max(1.0, row[f"{quantile}_us"]),
        }
        for row in rows
        if "p50_us" in row
        for quantile in ("p50", "p99")
    ]
    order = ["1 ms", "10 ms", "50 ms", "100 ms", "400 ms"]
    return (
        altair.Chart(altair.Data(values=points), title="Delay error, each run", width=160)
        .mark_point(filled=True, opacity=0.7)
        .encode(
            x=altair.X("delay:N", sort=order, title="one-way delay"),
            y=altair.Y("error in us:Q", scale=altair.Scale(type="log"), title="error in us"),
            color=altair.Color("of:N", title=None),
            column=altair.Column("subject:N", title=None),
        )
    )


if __name__ == "__main__":
    main()
