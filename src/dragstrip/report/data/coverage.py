"""Checks how much of its recording a page loaded: objects that it never requested, requests under
way when it counted as loaded, and navigation to another page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from dragstrip.model.done import AT_LOAD
from dragstrip.model.page import Page, address
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.words.numbers import counted, percent
from dragstrip.results.lookup import Lookup

_VISIT = ("block", "attempt", "stack", "page")
_LATE_MS = 5.0
"""Time in ms after the load event at which a browser may still report the end of a request that the
event waited for."""
_SHOWN = 100
"""Most characters of a URL that are shown."""


def coverage(
    study: Study, tables: Mapping[str, pl.LazyFrame], visits: Lookup | Sequence[Visit]
) -> Iterator[str]:
    """Yield sentences on each page that loaded only a part of its recording.

    `tables` are a capsule's tables. `visits` returns visits by their row; the first valid visit of
    each page is read. It may be empty.
    """
    loaded = tables["visits"].filter(pl.col("valid") & (pl.col("outcome") == "loaded"))
    requests = tables["requests"].join(loaded.select(*_VISIT, "plt_ms"), on=_VISIT)
    # Only the origin's log has the requests of workers.
    served = tables["served"].join(loaded.select(*_VISIT), on=_VISIT)
    asked = pl.concat([requests.select("page", "url"), served.select("page", "url")])
    by_page = asked.group_by("page").agg(pl.col("url").unique()).collect(engine="streaming")
    urls = dict(by_page.iter_rows())
    for page in study.pages:
        if page.name in urls and not page.live:
            yield from _never_asked(page, set(urls[page.name]))
    yield from _under_way(study, requests, loaded)
    if len(visits):
        rows = loaded.group_by("page").agg(pl.col("row").min()).collect(engine="streaming")
        first = dict(rows.iter_rows())
        yield from _moved_on(visits[first[p.name]] for p in study.pages if p.name in first)


def _never_asked(page: Page, urls: set[str]) -> Iterator[str]:
    asked = {url.partition("#")[0] for url in urls}
    near = {address(url) for url in asked - {r.url for r in page.resources}}
    recorded = [r for r in page.resources if r.method != "OPTIONS"]
    missed = [r for r in recorded if r.url not in asked and r.address not in near]
    if not missed:
        return
    wire_bytes = sum(r.body_bytes for r in recorded)
    share = sum(r.body_bytes for r in missed) / wire_bytes if wire_bytes else 0.0
    most = max(missed, key=lambda r: r.body_bytes)
    yield (
        f"{page.name}: no load asked for {len(missed)} of the recording's "
        f"{counted(len(recorded), 'object')} ({percent(share)} of its bytes), such as "
        f"{most.url[:_SHOWN]}."
    )


def _under_way(study: Study, requests: pl.LazyFrame, loaded: pl.LazyFrame) -> Iterator[str]:
    begun = (pl.col("start_ms") < pl.col("plt_ms")) & (pl.col("error") == "")
    late = begun & (pl.col("end_ms").is_null() | (pl.col("end_ms") > pl.col("plt_ms") + _LATE_MS))
    open_then = (
        requests.filter(late)
        .group_by("page", "stack")
        .agg(pl.len().alias("open"), pl.col("method").first(), pl.col("url").first())
        .join(loaded.group_by("page", "stack").agg(pl.len().alias("loads")), on=("page", "stack"))
        .collect(engine="streaming")
    )
    for page in study.pages:
        rows = {
            row["stack"]: row
            for row in open_then.filter(pl.col("page") == page.name).iter_rows(named=True)
        }
        if rows:
            shares = ", ".join(
                f"{name} {rows[name]['open'] / rows[name]['loads']:.2g}"
                for name in (s.name for s in study.visited)
                if name in rows
            )
            first = next(iter(rows.values()))
            method = "" if first["method"] == "GET" else f"{first['method']} "
            waits = (
                "" if page.done != AT_LOAD else "; with --done network-idle a load waits for them"
            )
            yield (
                f"{page.name}: when a load counted as done, requests were still under way "
                f"({shares} in the mean), such as {method}{first['url'][:_SHOWN]}{waits}."
            )


def _moved_on(visits: Iterable[Visit]) -> Iterator[str]:
    for visit in visits:
        if len(visit.documents) > 1:
            journey = " to ".join(url[:_SHOWN] for url in visit.documents)
            yield (
                f"{visit.page} moves on by itself, from {journey}. Times count from the start of "
                "the first document; first byte and paints are the last one's."
            )
