"""Races two sides in turns, compares them, and writes the answer as a pull request's comment.

    python action/race.py BASE/gate.toml CHANGE/gate.toml --out gate --fail-if 'slower > 0.25%'

Each side is a study file; what its pages, servers and traces are is read beside it. The sides race
in turns, block after block, so that what the machine does meanwhile meets both alike. `gate/` then
holds the capsules `base` and `change` with their reports, `compare.json` and `comment.md`.
Exit codes are those of `dragstrip compare`: 1 if a condition failed, 4 if none did, some are not
decided and too many blocks of a side stayed invalid.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import structs

import dragstrip
from dragstrip.cli import exits
from dragstrip.execution.guest.kernel import recipe
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.study.file import read_study
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

MARK = "<!-- dragstrip -->"
"""By which the action finds its comment again."""


def main() -> int:
    asked = _arguments()
    try:
        race(asked.base, asked.change, asked.out, virtual=asked.virtual)
    except InputError as error:
        print(f"action/race.py: {error}", file=sys.stderr)
        return 2
    except TestbedError as error:
        print(f"action/race.py: {error}", file=sys.stderr)
        return 3
    found = compare(asked.out, asked.fail_if)
    (asked.out / "comment.md").write_text(comment(found.answer, asked.run_url))
    return found.code


def race(base: Path, change: Path, out: Path, *, virtual: str) -> None:
    """All runs of both sides, block by block in turns. Raises as `dragstrip.run` does."""
    cache = cache_folder("pages")
    sides = {"base": read_study(base, cache), "change": read_study(change, cache)}
    exact = virtual == "yes" or (virtual == "auto" and recipe.installed() is not None)
    for runs in range(1, max(s.runs for s in sides.values()) + 1):
        # Who goes first alternates, too.
        for name in sorted(sides, reverse=runs % 2 == 0):
            side = sides[name]
            if runs <= side.runs:
                print(f"round {runs} of {side.runs}: {name}", file=sys.stderr, flush=True)
                dragstrip.run(_until(side, runs), out=out / name, virtual=exact)
    for name in sides:
        _call("report", str(out / name))


def _until(study: Study, runs: int) -> Study:
    return structs.replace(study, runs=runs, stopping=None)


class Found:
    """What `dragstrip compare` said."""

    def __init__(self, code: int, answer: dict[str, Any]) -> None:
        self.code, self.answer = code, answer


def compare(out: Path, conditions: list[str]) -> Found:
    argv = ["compare", str(out / "base"), str(out / "change"), "--json"]
    done = _call(*argv, *(word for c in conditions for word in ("--fail-if", c)), may_fail=True)
    (out / "compare.json").write_text(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode not in (exits.DONE, exits.FAILED_CONDITION, exits.STAYED_INVALID):
        sys.exit(done.returncode)
    return Found(done.returncode, json.loads(done.stdout))


def comment(answer: dict[str, Any], run_url: str = "") -> str:
    """The answer as Markdown."""
    failed = [c for c in answer["conditions"] if c["verdict"] == "failed"]
    open_ = [c for c in answer["conditions"] if c["verdict"] == "not decided"]
    if failed:
        head = "slower than allowed"
    elif open_ and answer["stayed_invalid"]:
        head = "cannot tell, too many invalid loads"
    else:
        head = "no regression shown"
    lines = [MARK, f"### dragstrip: {head}", ""]
    lines += [
        "| page and network | stack | metric | change / base | loads |",
        "|---|---|---|---|---|",
    ]
    for row in answer["differences"]:
        if row["statistic"] == "median" and row["metric"] in _shown(answer):
            lines.append(
                f"| {row['cell'].replace('|', ' over ')} | {row['stack']} | {row['metric']} "
                f"| {_ratio(row)} | {row['n_a']} |"
            )
    lines += ["", *(f"- {_said(c)}" for c in (*failed, *open_))]
    lines += [f"- Note: {note}" for note in answer["notes"]]
    if run_url:
        lines += ["", f"[Reports of both sides]({run_url}) are among the artifacts of this run."]
    return "\n".join(lines).rstrip() + "\n"


def _shown(answer: dict[str, Any]) -> set[str]:
    return {"plt_ms"} | {c["condition"].split()[0] for c in answer["conditions"]}


def _ratio(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return "no loads that count"
    if row["low"] is None:
        ends = row["ends"]
        spread = f" (pairs {ends[0]:.5f} to {ends[1]:.5f})" if ends else ""
        return f"{row['ratio']:.5f}{spread}"
    return f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def _said(gated: dict[str, Any]) -> str:
    where = f"{gated['stack']} on {gated['cell'].replace('|', ' over ')}"
    p = "by more than half of the pairs" if gated["p"] is None else f"p {gated['p']:.2g}"
    return f"**{gated['condition']}**: {gated['verdict']} for {where} ({p})"


def _call(*argv: str, may_fail: bool = False) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from dragstrip.cli import main; main()", *argv]
    return subprocess.run(program, capture_output=True, text=True, check=not may_fail)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", type=Path, help="study file of the state before")
    parser.add_argument("change", type=Path, help="study file of the state after")
    parser.add_argument("--out", type=Path, default=Path("gate"), help="folder (default: gate)")
    parser.add_argument("--fail-if", action="append", default=[], help="such as 'slower > 0.25%%'")
    parser.add_argument(
        "--virtual",
        choices=("auto", "yes", "no"),
        default="auto",
        help="virtual time (default: auto, where its kernel is installed)",
    )
    parser.add_argument("--run-url", default="", help="page of this run, linked in the comment")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
