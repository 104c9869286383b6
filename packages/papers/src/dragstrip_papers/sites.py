"""Pages in the place of a paper's sites: fitted stand-ins, older ones, and recordings.

A fitted stand-in has a number, ``wolsing2019-standin-09``. Its label names the site whose
SpeedIndex it has, and a claim about that site looks at it. Loads made before 30 November 2026 are
of stand-ins with the names of sites, ``wolsing2019-etsy.com``, whose bytes, objects and hosts were
chosen.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.pages import corpus
from dragstrip.pages.importers.kinds import IMPORTERS
from dragstrip.pages.resolve import named
from dragstrip.report.words.numbers import counted
from dragstrip.study.spec import StudySpec


def with_recordings(specs: Sequence[StudySpec], folders: Sequence[Path]) -> list[StudySpec]:
    """Return the studies with recordings of their sites instead of stand-ins, where a folder has
    one: ``wikipedia.warc.gz`` of wikipedia.org. Raises `InputError` for a folder without any."""
    found = [_in_place(spec, _recordings(folders)) for spec in specs]
    if folders and found == list(specs):
        raise InputError(
            f"--recordings {', '.join(map(str, folders))}: no recording has the name of one of the "
            "paper's sites, like wikipedia.warc.gz or wikipedia.org.har"
        )
    return found


def _in_place(spec: StudySpec, recorded: Mapping[str, Path]) -> StudySpec:
    known = corpus.known()
    sites = {page: known[page].like for page in spec.pages if page in known}
    files = {page: _of_site(site, recorded) for page, site in sites.items()}
    pages = tuple(str(files.get(page) or page) for page in spec.pages)
    return structs.replace(spec, pages=pages) if pages != tuple(spec.pages) else spec


def _of_site(site: str, recorded: Mapping[str, Path]) -> Path | None:
    return next((recorded[name] for name in _names(site) if name in recorded), None)


def _names(site: str) -> tuple[str, ...]:
    """Return names of a recording of the site, without ending."""
    return (site, f"www.{site}", site.partition(".")[0]) if site else ()


def _recordings(folders: Sequence[Path]) -> dict[str, Path]:
    """Return recordings by names without endings. Raises `InputError` for what is no folder."""
    found: dict[str, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--recordings {folder}: there is no such folder")
        for file in sorted(folder.iterdir()):
            ending = next((e for e in IMPORTERS if file.name.lower().endswith(e)), "")
            if ending and file.is_file():
                found.setdefault(file.name[: -len(ending)].lower(), file)
    return found


def kinds_of_pages(specs: Sequence[StudySpec]) -> str:
    """Return ``33 stand-ins; 5 recordings: facebook, google, ...``; empty if no page is a fitted
    stand-in."""
    pages = dict.fromkeys(page for spec in specs for page in spec.pages)
    fitted = [p for p in pages if p in corpus.known() and corpus.known()[p].like]
    files = [named(p) for p in pages if p not in corpus.known() and Path(p).exists()]
    if not fitted:
        return ""
    told = f"recordings: {', '.join(files)}" if files else "no recording, see --recordings"
    return f"{counted(len(fitted), 'stand-in')}; {told}"


def as_loaded(loads: pl.DataFrame) -> dict[str, str]:
    """Return what loads have in the place of a fitted stand-in: an older one, or a recording."""
    there = {*loads["page"].unique()}
    found = {}
    for page in corpus.known().values():
        if page.like and named(page.name) not in there:
            old = f"{page.name.partition('/')[0]}-{page.like}"
            if other := next((n for n in (old, *_names(page.like)) if n in there), ""):
                found[named(page.name)] = other
    return found


def older(loads: pl.DataFrame) -> tuple[str, ...]:
    """Return stand-ins of these loads that were chosen and not fitted, though today's are."""
    now = {page.name.partition("/")[0] for page in corpus.known().values() if page.like}
    found = loads.filter(pl.col("standin"))["page"].unique().sort().to_list()
    return tuple(p for p in found if p not in corpus.labels() and p.partition("-")[0] in now)


def chosen(pages: Collection[str]) -> str:
    """Say in a sentence that stand-ins were chosen; empty without any."""
    if not pages:
        return ""
    return (
        f"{counted(len(pages), 'page')} of these loads have the name of a site and are a chosen "
        "stand-in: its bytes, objects and hosts are our choice. Today's stand-ins are fitted, and "
        "have numbers."
    )
