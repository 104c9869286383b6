"""Attribution on known ground: what was planted must be found, and nothing else.

    uv run python bench/stats/why_known.py [blocks] [--virtual] [--write]

Stacks differ in properties of which only the planted ones matter on the page raced; the others are
known to do nothing there. Every case is raced in a real browser over LTE. With `--write` the table
goes to docs/reference/why.md (about five minutes on a quiet machine; in virtual time on any).
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.report.words.why import span
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.attribution import FactorEffect, WhyCell, why
from dragstrip.results.tables.build import refresh, scan
from dragstrip.study.bridge import bridge_study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "why.md"
H2 = find_stack("h2")
INERT = {"slow_start_after_idle": False, "tls": "1.2"}
"""A page that never idles does not restart; TLS 1.2 with False Start takes as many round trips."""


class Case(Struct, frozen=True):
    name: str
    page: str
    b: Stack
    planted: tuple[str, ...]
    """Factors that matter; the others do not."""
    metric: str = "plt_ms"


def changed(**fields: object) -> Stack:
    return structs.replace(H2, name="changed", **INERT, **fields)


CASES = (
    Case("nothing (A/A)", "synth:4x5KB", structs.replace(H2, name="again"), ()),
    Case("nothing that matters", "synth:4x5KB", changed(), ()),
    Case("a held round trip", "synth:4x5KB", changed(hold_rtts=1), ("handshake",)),
    Case("window 32", "synth:1x100KB", changed(initial_window_packets=32), ("window",)),
    Case(
        "records of a packet, first byte",
        "synth:400x1KB",
        changed(tls_record=1369),
        ("records",),
        "ttfb_ms",
    ),
    Case(
        "a held round trip and window 32",
        "synth:1x100KB",
        changed(hold_rtts=1, initial_window_packets=32),
        ("handshake", "window"),
    ),
)


def measure(case: Case, blocks: int, folder: Path, *, virtual: bool) -> WhyCell:
    base = StudySpec(
        name="why-known",
        pages=[case.page],
        networks=[find_network("LTE")],
        stacks=[H2, case.b],
        runs=1,
        seed=1,
        client=Client(),
    ).resolve(folder)
    bridge = bridge_study(base, H2, case.b, runs=blocks)
    options = RunOptions(virtual=virtual, calibrate=False)
    study = options.adapt(structs.replace(bridge, stopping=None))
    out = folder / case.name.replace(" ", "-").replace("/", "-")
    make_visits(study, out, options)
    capsule = Capsule.open(out)
    refresh(capsule)
    (cell,) = why(study, scan(capsule, "visits"), case.metric).cells
    return cell


def row(case: Case, cell: WhyCell) -> str:
    others = [part for part in cell.parts if part.factor not in case.planted]
    wrong = [part.words for part in others if not holds(part, 1.0)]
    planted = [part for part in cell.parts if part.factor in case.planted]
    said = "; ".join(f"{part.words} {span(part)}" for part in planted) or "-"
    rest = "; ".join(f"{part.words} {span(part)}" for part in others) or "-"
    found = all(part.shown for part in planted)
    if len(planted) == 1:
        found = found and holds(planted[0], cell.ratio)
    verdict = "yes" if found and not wrong else f"no ({', '.join(wrong) or 'planted'})"
    return f"| {case.name} | {case.page} | {span(cell)} | {said} | {rest} | {cell.n} | {verdict} |"


def holds(part: FactorEffect, ratio: float) -> bool:
    return part.low is not None and part.high is not None and part.low <= ratio <= part.high


def table(cases: Sequence[Case], blocks: int, *, virtual: bool) -> str:
    head = ["planted", "page", "B / A", "its share", "shares of the rest", "blocks", "as planted"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            lines.append(row(case, measure(case, blocks, Path(folder), virtual=virtual)))
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    found = table(CASES, numbers[0] if numbers else 9, virtual="--virtual" in sys.argv)
    if "--write" in sys.argv:
        before, _, _ = DOCS.read_text().partition("| planted |")
        DOCS.write_text(f"{before}{found}\n")


if __name__ == "__main__":
    main()
