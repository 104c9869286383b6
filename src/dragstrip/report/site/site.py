"""Writes the report: a small site in the capsule's folder ``report``, which can be redrawn from the
tables.

    index.html          the answer, or which stack leads where
    by-METRIC.html      the same for another metric
    cells/*.html        one page per cell: metrics, figure, pictures, waterfalls, blocks
    race-*.webp         the race of each cell, to share
    visits/*.html       visits worth looking at: typical, invalid, slowest
    verdicts.html, replay.html, testbed.html, parameters.html
    assets/             style, script, figures

The site opens from disk, without a network. Cells are read and drawn one by one, to save memory.
"""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from jinja2 import Environment
from markupsafe import Markup

from dragstrip.model.addresses import described, told
from dragstrip.model.effects import drops_in_words
from dragstrip.model.study import CellKey
from dragstrip.report import vega
from dragstrip.report.data import leaders
from dragstrip.report.data.answer import answer
from dragstrip.report.data.belief import belief
from dragstrip.report.data.beside import beside
from dragstrip.report.data.block_rows import block_rows
from dragstrip.report.data.cells import ReportCell, cells, page_file
from dragstrip.report.data.controls import by_metric, judgement
from dragstrip.report.data.coverage import coverage
from dragstrip.report.data.effect import effects
from dragstrip.report.data.families import families
from dragstrip.report.data.fidelity import fidelity
from dragstrip.report.data.lead_bars import lead_bars
from dragstrip.report.data.shown import shown
from dragstrip.report.data.spread_rows import spread_rows
from dragstrip.report.data.verdicts import SHOWN_VISITS, verdicts
from dragstrip.report.data.visit_costs import evidence
from dragstrip.report.figures import factor_bars, matrix, palette
from dragstrip.report.figures.ecdf import curves, specification
from dragstrip.report.figures.forest import forest, reach
from dragstrip.report.figures.matrix import MatrixEntry
from dragstrip.report.figures.spread import CellLoads
from dragstrip.report.pictures.capsule_pictures import CellPicture, pictures, study_pictures
from dragstrip.report.site.templating import environment
from dragstrip.report.site.visit_page import VisitPage, draw, judged
from dragstrip.report.words import effect as effect_words
from dragstrip.report.words import numbers as words
from dragstrip.report.words import why as why_words
from dragstrip.report.words import wire_evidence
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.results.compare.attribution import why
from dragstrip.results.compare.bias_words import rates, where
from dragstrip.results.compare.controls import controls
from dragstrip.results.compare.stopping import saving
from dragstrip.results.lookup import Lookup
from dragstrip.results.observed import metrics_of
from dragstrip.results.tables.build import TABLES, refresh, scan

FOLDER = "report"
DRAWN_REQUESTS = 20_000
"""Most requests of all visits with pages, shared evenly by the cells, because drawing takes
seconds."""
SPELLED_OUT = 12
"""Most cells whose answers the first page gives in full sentences."""
SHOWN_BLOCKS = 600
PICTURED_CELLS = 60
"""Most cells with pictures. The pictures of one cell take seconds to draw and up to 4 MB."""

SCRIPTS = ("site.js", "scroll.js", "find.js")
"""Files that the pages' one script is made of."""

_TEMPLATES = Path(__file__).with_name("templates")


def build(capsule: Capsule, also: Collection[str] = ()) -> Path:
    """Write the report into the capsule's folder; return the path of its first page.

    The tables are updated first. Visits whose ids are in `also` always get a page.
    """
    refresh(capsule)
    target = capsule.path / FOLDER
    with TemporaryDirectory(dir=capsule.path, prefix="report-") as folder:
        draft = Path(folder) / FOLDER
        _Site(capsule, draft).write(also)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(draft, target)
    return target / "index.html"


class _Site:
    def __init__(self, capsule: Capsule, folder: Path) -> None:
        self._capsule = capsule
        self._study = capsule.manifest.study
        self._folder = folder
        self._tables = {name: scan(capsule, name) for name in TABLES}
        self._lookup = Lookup(capsule.path / JOURNAL)
        self._visit_files: dict[int, str] = {}
        """Path of each visit's page from the report's folder, by row of visits.parquet."""
        self._loads: dict[CellKey, CellLoads] = {}

    def write(self, also: Collection[str]) -> None:
        for name in ("assets", "cells", "visits"):
            (self._folder / name).mkdir(parents=True)
        self._assets()
        entries = list(self._cells(also))
        visits = self._tables["visits"]
        found = evidence(self._study, visits)
        common = {"entries": entries, "evidence": found}
        judged_by = {
            "controls": list(by_metric(controls(self._study, visits))),
            "stopping": list(judgement((), saving(self._study, visits))),
            "overall": study_pictures(self._study, self._loads),
            "families": families(self._study, self._loads),
        }
        dense = matrix.dense(self._study, entries)
        rows = matrix.rows(self._study, entries) if dense else {}
        attributed = why(self._study, visits) if self._study.bridge else None
        metrics = matrix.known(entries)
        for metric in metrics:
            first = metric.name == "plt_ms"
            shares = matrix.shares(self._study, entries, metric.name)
            self._page(
                "index.html" if first else f"by-{metric.name}.html",
                "index.html.j2",
                **common,
                **judged_by,
                metric=metric,
                metrics=metrics,
                shares=shares,
                dense=dense,
                rows=rows,
                why=attributed,
                single=self._single if len(entries) == 1 and first else None,
            )
        against = verdicts(self._study, visits, self._visit_files)
        doubts = belief(self._study, visits)
        self._page("verdicts.html", "verdicts.html.j2", **common, verdicts=against, belief=doubts)
        faithful = fidelity(self._study, self._tables)
        left_out = list(coverage(self._study, self._tables, self._lookup))
        self._page("replay.html", "replay.html.j2", fidelity=faithful, coverage=left_out)
        self._page("testbed.html", "testbed.html.j2", **common)
        blocks = list(islice(self._study.blocks(), SHOWN_BLOCKS))
        self._page("parameters.html", "parameters.html.j2", blocks=blocks)

    def _cells(self, also: Collection[str]) -> Iterator[MatrixEntry]:
        study = self._study
        count = len(study.cells())
        room = 0
        for number, cell in enumerate(cells(study, self._tables["visits"]), start=1):
            room += DRAWN_REQUESTS // count
            file = page_file(number, cell.title)
            chosen = shown(cell, room, also)
            drawn = draw(self._capsule, cell, chosen, self._lookup, Path(file).stem)
            room -= sum(len(d.visit.requests) for d in drawn)
            entry = MatrixEntry(
                number=number,
                page=cell.page.name,
                network=cell.network.name,
                connection=cell.connection,
                where=cell.title,
                file=file,
                answer=answer(cell, study.client.timeout_s),
                bars=lead_bars(cell, effects(cell)),
                leads=matrix.leads(cell),
            )
            files = dict(zip((s.row for s in chosen), (d.file for d in drawn), strict=False))
            self._visit_files |= {row: f"visits/{file}" for row, file in files.items()}
            key = cell.page.name, cell.network.name, cell.connection
            self._loads[key] = [r.loads for r in cell.results]
            found = self._pictures(cell) if number <= PICTURED_CELLS else None
            self._single = self._about(cell, entry, drawn, files, found)
            self._page(entry.file, "cell.html.j2", **self._single)
            for one in drawn:
                self._page(f"visits/{one.file}", "visit.html.j2", drawn=one, entry=entry, all=drawn)
            yield entry

    def _pictures(self, cell: ReportCell) -> list[CellPicture]:
        if not self._study.client.frames or not len(self._lookup):
            return []
        rows = cell.seen.visits.select("row", "reasons").iter_rows()
        found = pictures(self._capsule, [judged(self._lookup[n], told) for n, told in rows])
        for picture in found:
            for name, data in picture.files.items():
                (self._folder / name).write_bytes(data)
        return found

    def _about(
        self,
        cell: ReportCell,
        entry: MatrixEntry,
        drawn: list[VisitPage],
        files: Mapping[int, str],
        found: list[CellPicture] | None,
    ) -> dict[str, Any]:
        axis = reach([c for r in cell.results if (c := r.against_first.get("plt_ms"))])
        return {
            "cell": cell,
            "entry": entry,
            "typical": [d for d in drawn if d.why == "typical" and d.waterfall],
            "pictures": found or (),
            "pictured": found is not None,
            "curves": curves(cell),
            "spread": list(spread_rows(cell)),
            "blocks": block_rows(cell, [s.name for s in self._study.visited], files),
            "forests": {
                r.stack.name: Markup(
                    forest(r.against_first.get("plt_ms"), axis, palette.colour(r.stack.protocol))
                )
                for r in cell.results
            },
            "metric_names": [
                name for name in cell.seen.metrics if any(name in r.medians for r in cell.results)
            ],
        }

    def _assets(self) -> None:
        assets = self._folder / "assets"
        style = "".join((_TEMPLATES / name).read_text() for name in ("report.css", "site.css"))
        (assets / "report.css").write_text(style, encoding="utf-8")
        script = "".join((_TEMPLATES / name).read_text() for name in SCRIPTS)
        (assets / "report.js").write_text(script, encoding="utf-8")
        (assets / "vega.js").write_text(vega.script(), encoding="utf-8")
        shutil.copyfile(vega.LICENCES, assets / vega.LICENCES.name)
        known = {
            m.name: {"title": m.meaning, "unit": "s" if m.unit == "ms" else m.unit}
            for m in metrics_of(self._study).values()
        }
        figure = msgspec.json.encode({"spec": specification(self._study), "metrics": known})
        (assets / "figure.js").write_bytes(b"window.dragstripFigure = " + figure + b";\n")

    def _page(self, file: str, template: str, **values: Any) -> None:
        page = self._environment.get_template(template)
        text = page.render(
            manifest=self._capsule.manifest,
            study=self._study,
            root="../" * file.count("/"),
            file=file,
            **values,
        )
        (self._folder / file).write_text(text, encoding="utf-8")

    @cached_property
    def _environment(self) -> Environment:
        made = environment()
        names = (
            *("duration", "percent", "size", "ratio", "interval", "listed", "counted", "amount"),
            *("led", "ms"),
        )
        made.globals.update({name: getattr(words, name) for name in names})
        made.globals.update(
            why_drawing=factor_bars.drawing,
            why_sentence=why_words.sentence,
            why_parts=why_words.by_size,
            why_place=why_words.place,
            why_basis=why_words.basis,
            why_span=why_words.span,
            why_notes=why_words.notes,
            why_seen=wire_evidence.rows,
            why_pointers=wire_evidence.pointers,
        )
        made.globals.update(
            bar_length=effect_words.length,
            bar_told=effect_words.told,
            bar_notes=effect_words.notes,
            effect_meanings=effect_words.MEANINGS,
        )
        made.globals.update(
            palette=palette,
            metrics_by_name=metrics_of(self._study),
            mark=leaders.mark,
            rates=rates,
            where=where,
        )
        made.filters["stack_named"] = self._study.stack
        made.globals.update(
            coded=words.coded,
            beside=beside(self._study.stacks),
            addressed=told(self._study.pages, self._study.addresses),
            described=described,
            pictured_cells=PICTURED_CELLS,
            shown_visits=SHOWN_VISITS,
            tint=matrix.tint,
            drops_in_words=drops_in_words,
            spelled_out=SPELLED_OUT,
            alike=leaders.ALIKE,
            DASH=words.DASH,
        )
        return made
