"""Writes the league's pages into the folder of its capsules.

index.html       the league page
league.md        the same as Markdown, with its pictures in pictures/
league.json      every number
badges.json      one badge per server and discipline
"""

from pathlib import Path

import msgspec
from markupsafe import Markup

from dragstrip.league import words
from dragstrip.league.badges import badges
from dragstrip.league.markdown import markdown
from dragstrip.league.picture import drawing
from dragstrip.league.result import LeagueResult
from dragstrip.report.figures import palette
from dragstrip.report.site.site import FOLDER, build
from dragstrip.report.site.templating import environment
from dragstrip.results.capsule import JOURNAL, Capsule

PICTURES = "pictures"


def write(found: LeagueResult, out: Path) -> Path:
    """Write all pages into `out`; returns the HTML page."""
    for one in found.disciplines:
        if one.standings:
            _draw(out / one.capsule)
    drawn = {one.name: drawing(one.standings) for one in found.disciplines if one.standings}
    (out / PICTURES).mkdir(exist_ok=True)
    for name, picture in drawn.items():
        (out / PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")
    (out / "league.md").write_text(markdown(found, PICTURES), encoding="utf-8")
    (out / "league.json").write_bytes(_json(found))
    (out / "badges.json").write_bytes(_json(badges(found)))
    made = environment(Path(__file__).with_name("templates"))
    text = made.get_template("league.html.j2").render(
        found=found,
        pictures={name: Markup(picture) for name, picture in drawn.items()},
        words=words,
        palette=palette,
    )
    page = out / "index.html"
    page.write_text(text, encoding="utf-8")
    return page


def _draw(folder: Path) -> None:
    """Redraw a capsule's report if it has newer visits."""
    report, journal = folder / FOLDER / "index.html", folder / JOURNAL
    if not report.exists() or report.stat().st_mtime < journal.stat().st_mtime:
        build(Capsule.open(folder))


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
