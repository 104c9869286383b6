"""Draws the pictures of a capsule from its visits and frames.

A picture is self-contained: its HTML includes styles and images, so any page can contain it.
`files` has the same pictures as files to share; they are written next to that page.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice

from markupsafe import Markup
from msgspec import Struct

from dragstrip.model.study import CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.report.data.outlier import Outlier, outlier
from dragstrip.report.data.typical import typical
from dragstrip.report.figures.spread import CellLoads, SpreadFigure, drawing, spreads
from dragstrip.report.pictures.film import Film, film
from dragstrip.report.pictures.filmstrip import filmstrip
from dragstrip.report.pictures.race import race_picture
from dragstrip.report.words.numbers import counted, duration
from dragstrip.results.blocks import trials
from dragstrip.results.capsule import Capsule

SPREADS = 6
RACED = 12
"""Most stacks in one race. With more stacks, each screen would be too small."""


class CellPicture(Struct, frozen=True, kw_only=True):
    title: str
    caption: str
    html: Markup
    files: Mapping[str, bytes] = {}
    """File contents by file name."""


def pictures(capsule: Capsule, visits_of_cell: Sequence[Visit]) -> list[CellPicture]:
    """Draw race, filmstrip and outlier of one cell (page, network, connection mode).

    `visits_of_cell` are all visits of the cell, of all attempts. The result is empty if no block
    counts or no frames were kept. Stacks that cannot be drawn are left out.
    """
    study = capsule.manifest.study
    names = [s.name for s in study.stacks]
    good = [t for t in trials(visits_of_cell, names) if t.counts]
    limit_ms = study.client.timeout_s * 1000
    own = {name: [t.visits[name] for t in good] for name in names}
    chosen = [visit for name in names if (visit := typical(own[name], limit_ms))]
    films = [made for visit in chosen if (made := film(capsule.path, visit))]
    if not films:
        return []
    return [
        *_race(study, films),
        _filmstrip(study, films),
        *_outlier(capsule, [found for v in chosen if (found := outlier(v, own[v.stack]))]),
    ]


def study_pictures(study: Study, loads: Mapping[CellKey, CellLoads]) -> list[CellPicture]:
    """Draw pictures of several cells: the spread under loss, for pages loaded over networks that
    differ only in loss. Only a readable number of pages is drawn."""
    return [_spread(found) for found in islice(spreads(study, loads), SPREADS)]


def _race(study: Study, films: Sequence[Film]) -> Iterator[CellPicture]:
    if not 2 <= len(films) <= RACED:
        return
    visit = films[0].visit
    network = study.network(visit.network)
    mode = "" if visit.connection == "first" else f", {visit.connection}"
    data = race_picture(
        films,
        [study.stack(f.name) for f in films],
        f"{visit.page} over {visit.network}{mode}",
        network.describe(),
    )
    cell = visit.block.rpartition("|")[0].replace("/", "_").replace("|", "-")
    name = f"race-{cell}.webp"
    source = "data:image/webp;base64," + base64.b64encode(data).decode()
    said = escape(f"Side by side: {visit.page} loading over {', '.join(f.name for f in films)}")
    yield CellPicture(
        title="The race",
        caption=(
            "The visit of median page load time of each stack, in real time; a frame in the "
            f"stack's colour means that it has finished. To share: {name} in the folder report."
        ),
        html=Markup(f'<img src="{source}" alt="{said}" style="max-width:100%;height:auto">'),
        files={name: data},
    )


def _filmstrip(study: Study, films: Sequence[Film]) -> CellPicture:
    return CellPicture(
        title="What a viewer saw",
        caption=(
            "The same visits. Each picture shows the screen at the end of its time span; a "
            "coloured frame marks a change. First and last visual change (FVC, LVC), 85 % "
            "complete (VC85), load event (PLT)."
        ),
        html=Markup(
            filmstrip(films, [study.stack(f.name) for f in films], [f.name for f in films])
        ),
    )


def _outlier(capsule: Capsule, found: Sequence[Outlier]) -> Iterator[CellPicture]:
    """Yield a picture of the outlier among all stacks, next to its stack's typical visit."""
    if not found:
        return
    odd = max(found, key=lambda o: o.apart_ms)
    pair = [film(capsule.path, odd.typical), film(capsule.path, odd.visit)]
    films = [f for f in pair if f]
    if len(films) < 2:
        return
    stack = capsule.manifest.study.stack(odd.visit.stack)
    block = odd.visit.block.rsplit("|", 1)[-1]
    yield CellPicture(
        title="The visit that looked least like its stack's typical one",
        caption=(
            f"{stack.name}, block {block}: {duration(odd.apart_ms)} lie between the two curves. "
            "Check whether it is the same page."
        ),
        html=Markup(filmstrip(films, [stack, stack], ["typical", f"block {block}"])),
    )


def _spread(spread: SpreadFigure) -> CellPicture:
    visits = sum(len(own) for level in spread.levels for own in level.loads)
    mode = "" if spread.connection == "first" else f", {spread.connection}"
    return CellPicture(
        title=f"Spread under loss: {spread.page}{mode}",
        caption=(
            f"Page load times of {counted(visits, 'visit')} by random loss; boxes are quartiles, "
            "whiskers reach 1.5 times the box, every dot is a visit. Loads that never finished "
            "are named, not drawn. As figure 1 of biswal2016."
        ),
        html=Markup(drawing(spread)),
    )
