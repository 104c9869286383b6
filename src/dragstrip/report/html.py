"""The report: one HTML file that needs no network, redrawn from a capsule at any time."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from dragstrip.model.visit import Visit
from dragstrip.report import palette, words
from dragstrip.report.answer import Answer, answer
from dragstrip.report.cells import Cell, cells
from dragstrip.report.evidence import SHOWN_VISITS, Evidence, evidence
from dragstrip.report.fidelity import fidelity
from dragstrip.report.figures import Spec, load_times
from dragstrip.report.waterfall import waterfall
from dragstrip.results.capsule import Capsule

DRAWN_REQUESTS = 4000
"""Waterfalls are drawn until the report holds this many requests (about 2 MB of SVG)."""

_TEMPLATES = Path(__file__).with_name("templates")


class Drawing(Struct, frozen=True):
    """A cell with everything drawn of it."""

    cell: Cell
    answer: Answer
    figure: Spec | None
    waterfalls: tuple[tuple[Visit, Markup], ...]
    undrawn: int
    """Waterfalls left out because the report would grow too large."""


def build(capsule: Capsule, visits: Sequence[Visit]) -> Path:
    """Writes ``report.html`` on the capsule's visits into its folder and returns its path."""
    target = capsule.path / "report.html"
    target.write_text(page(capsule, visits), encoding="utf-8")
    return target


def page(capsule: Capsule, visits: Sequence[Visit]) -> str:
    """The report's HTML."""
    study = capsule.manifest.study
    drawings = list(_draw(cells(study, visits), study.client.timeout_s))
    found: Evidence = evidence(study, visits)
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(_helpers())
    return environment.get_template("report.html.j2").render(
        manifest=capsule.manifest,
        study=study,
        drawings=drawings,
        evidence=found,
        fidelity=fidelity(study, visits),
        blocks=list(islice(study.blocks(), SHOWN_VISITS)),
        vega=_vega() if any(d.figure for d in drawings) else None,
    )


def _draw(found: Sequence[Cell], limit_s: float) -> Iterator[Drawing]:
    room = DRAWN_REQUESTS
    for cell in found:
        typical = [r.typical for r in cell.results if r.typical]
        drawn = []
        until_ms = max((_end_ms(v) for v in typical), default=0) * 1.02
        for visit in typical:
            room -= len(visit.requests)
            if room >= 0 and until_ms > 0:
                drawn.append((visit, Markup(waterfall(visit, until_ms))))
        yield Drawing(
            cell, answer(cell, limit_s), load_times(cell), tuple(drawn), len(typical) - len(drawn)
        )


def _end_ms(visit: Visit) -> float:
    return max([visit.plt_ms or 0, *(r.end_ms or r.start_ms for r in visit.requests)])


def _vega() -> Markup:
    """Vega, Vega-Lite and vega-embed as one script, from the wheel, without a network."""
    return Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _helpers() -> dict[str, Any]:
    names = ("duration", "percent", "size", "ratio", "listed", "counted")
    return {name: getattr(words, name) for name in names} | {"palette": palette}
