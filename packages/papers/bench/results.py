"""What a finished study found, for docs/results: a table, a figure of boxes, and how it was made.

    uv run python packages/papers/bench/results.py CAPSULE docs/results/NAME

Writes NAME.md and NAME.svg; of a study of one run only the table, for a load is no distribution.
Loads that failed or timed out are outcomes and stand at the limit.
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import polars as pl

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.data.beside import beside
from dragstrip.report.data.controls import judgement
from dragstrip.report.words.numbers import ratio
from dragstrip.results.bias import bias_of_table
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.bias_words import sentence
from dragstrip.results.compare.controls import controls
from dragstrip.results.compare.stacks import compare_all
from dragstrip.results.compare.stopping import saving
from dragstrip.results.tables.build import scan
from dragstrip_papers.campaign.space import CELL
from dragstrip_papers.evidence import loads
from dragstrip_papers.provenance import command, made_by
from dragstrip_papers.report.boxes import boxes, labelled


def main() -> None:
    capsule, target = Capsule.open(Path(sys.argv[1])), Path(sys.argv[2])
    study = capsule.manifest.study
    visits = list(capsule.visits())
    counted = loads(study, visits)
    lines = [f"# {study.name}", "", *about(capsule, visits), ""]
    if study.runs == 1:
        lines += singles(study, counted)
    else:
        if drawn := boxes(counted, study.stacks, target.name, study.name, ""):
            target.with_suffix(".svg").write_text(drawn._repr_svg_())
            lines += [f"![{drawn.caption}]({target.name}.svg)", "", drawn.caption, ""]
            lines += medians(drawn.rows)
        lines += ["", *ratios(capsule, counted)]
    target.with_suffix(".md").write_text("\n".join([*lines, ""]))


def about(capsule: Capsule, visits: list[Visit]) -> list[str]:
    study, start = capsule.manifest.study, capsule.manifest.starts[-1]
    table = scan(capsule, "visits")
    invalid = Counter(r.code for v in visits for r in v.reasons)
    reasons = ", ".join(f"{code} {n}" for code, n in invalid.most_common()) or "none"
    return [
        f"{len(visits)} visits in {took_s(capsule, visits) / 60:.0f} minutes, "
        f"{start.browser_version}; invalid: "
        f"{sum(not v.valid for v in visits)} ({reasons}), kept, not counted and made again up to "
        f"{study.reruns} times.",
        "",
        f"    {command(start.command)}",
        "",
        *[item(f"made by {said}") for said in made_by(capsule.manifest.starts)],
        *([] if study.controls else [item("no controls were visited, so the noise is unknown")]),
        *map(item, judgement(controls(study, table), saving(study, table))),
        *map(item, beside(study.stacks)),
        item(sentence(bias_of_table(table)) or "No visit was invalid."),
    ]


def item(said: str) -> str:
    """A line of a list. An indented line continues the line before."""
    text = said.lstrip()
    return f"{said[: len(said) - len(text)]}- {text}"


def took_s(capsule: Capsule, visits: Sequence[Visit]) -> float:
    """Time from each start of the study to the last visit after it, without the time between
    starts."""
    starts = [datetime.fromisoformat(s.started).timestamp() for s in capsule.manifest.starts]
    made = [v.started_us / 1e6 for v in visits]
    spans = []
    for begun, until in pairwise((*starts, math.inf)):
        spans.append(max((at - begun for at in made if begun <= at < until), default=0.0))
    return sum(spans)


def singles(study: Study, counted: pl.DataFrame) -> list[str]:
    """One row per cell: each stack's one load, and the others relative to the first."""
    first, *others = (stack.name for stack in study.stacks)
    order = ["page_bytes", "objects", "rate_mbps", "rtt_ms", "loss"]
    cells = counted.sort(order).pivot("stack", index=[*CELL, *order], values="plt_ms")
    heads = [f"{first}, s", *(f"{name}, s | {name} / {first}" for name in others)]
    lines = [f"| page | network | {' | '.join(heads)} |", "|---" * (3 + 2 * len(others)) + "|"]
    for cell in cells.iter_rows(named=True):
        page = labelled(cell["page"], counted.filter(page=cell["page"]))
        shown = [f"{cell[first] / 1000:.3f}"]
        for name in others:
            shown += [f"{cell[name] / 1000:.3f}", f"{cell[name] / cell[first]:.3f}"]
        lines.append(f"| {page} | {cell['network']} | {' | '.join(shown)} |")
    run = set(cells.select(CELL).iter_rows())
    missing = [f"{page}, {network}" for page, network, _ in set(study.cells()) - run]
    return [*lines, "", f"Not run: {'; '.join(sorted(missing)) or 'none'}."]


def medians(rows: list[dict[str, object]]) -> list[str]:
    lines = ["| page, visits | network | stack | median, s | quartiles | n |", "|---" * 6 + "|"]
    return lines + [
        f"| {r['panel']} | {r['network']} | {r['stack']} | {r['median']:.3f} "
        f"| {r['q1']:.3f} to {r['q3']:.3f} | {r['n']} |"
        for r in rows
    ]


def ratios(capsule: Capsule, counted: pl.DataFrame) -> list[str]:
    lines = [
        "Page load times of a block's visits divided, median with 95 % interval:",
        "",
        "| page | network | b / a | ratio | blocks |",
        "|---" * 5 + "|",
    ]
    study = capsule.manifest.study
    for c in compare_all(study, scan(capsule, "visits")):
        if c.metric == "plt_ms":
            page = labelled(c.page, counted.filter(page=c.page))
            lines.append(
                f"| {page}, {c.connection} | {c.network} | {c.b} / {c.a} | {ratio(c)} | {c.n} |"
            )
    return lines


if __name__ == "__main__":
    main()
