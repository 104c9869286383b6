"""Races two sides in turns, compares them, and writes the answer as a pull request's comment.

    python action/race.py BASE/gate.toml CHANGE/gate.toml --out gate --fail-if 'slower > 0.25%'

Each side is a study file; what its pages, servers and traces are is read beside it. The sides race
in turns, block after block, so that what the machine does meanwhile meets both alike. `gate/` then
holds the capsules `base` and `change` with their reports, `compare.json`, `junit.xml`, `summary.md`
and `comment.md`.
Exit codes are those of `dragstrip compare`: 1 if a condition failed, 4 if none did, some are not
decided and too many blocks of a side stayed invalid.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

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
    code = compare(asked.out, asked.fail_if)
    summary = (asked.out / "summary.md").read_text()
    (asked.out / "comment.md").write_text(comment(summary, asked.run_url))
    return code


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
        done = _call("report", str(out / name), may_fail=True)
        if done.returncode not in (exits.DONE, exits.STAYED_INVALID):  # `compare` says that again
            sys.stderr.write(done.stderr)
            sys.exit(done.returncode)


def _until(study: Study, runs: int) -> Study:
    return structs.replace(study, runs=runs, stopping=None)


def compare(out: Path, conditions: list[str]) -> int:
    """Writes `compare.json`, `junit.xml` and `summary.md`; the exit code of `dragstrip compare`."""
    argv = ["compare", str(out / "base"), str(out / "change"), "--json"]
    argv += ["--markdown", str(out / "summary.md")]
    if conditions:
        argv += ["--junit", str(out / "junit.xml")]
        argv += ["--annotate", "github"] if os.environ.get("GITHUB_ACTIONS") else []
    done = _call(*argv, *(word for c in conditions for word in ("--fail-if", c)), may_fail=True)
    (out / "compare.json").write_text(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode not in (exits.DONE, exits.FAILED_CONDITION, exits.STAYED_INVALID):
        sys.exit(done.returncode)
    return done.returncode


def comment(summary: str, run_url: str = "") -> str:
    """The summary of `dragstrip compare`, as the action's comment."""
    lines = [MARK, summary]
    if run_url:
        lines += [f"[Reports of both sides]({run_url}) are among the artifacts of this run.", ""]
    return "\n".join(lines)


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
