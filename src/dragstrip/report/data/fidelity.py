"""Measures how faithful the replay was: lists every request without an exact answer in the
recording, by URL."""

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.study import Study

_MATCHES = {
    "miss": "not in the recording: a marked 404",
    "query": "the recorded answer with the nearest query string",
    "preflight": "a CORS preflight, made up because none was recorded",
}
_NO_HOST = "net::ERR_NAME_NOT_RESOLVED"
_VISIT = ("block", "attempt", "stack", "page")
_ADDRESS = pl.col("url").str.replace("(?s)[?;].*", "").alias("address")
"""The URL without query, as `dragstrip.model.page.address` makes it."""


class AddressGap(Struct, frozen=True, kw_only=True):
    """An address (a URL without query, see `dragstrip.model.page.address`) and how its requests
    were answered."""

    address: str
    answer: str
    requests: dict[str, int]
    """Number of requests by stack, over all visits of the stack."""


class PageFidelity(Struct, frozen=True, kw_only=True):
    """The replay of a page over all visits that loaded it."""

    page: Page
    visits: dict[str, int]
    """Number of visits by stack."""
    asked: int
    """Number of recorded URLs that at least one visit requested."""
    recorded: int
    gaps: tuple[AddressGap, ...]
    """Addresses without an exact answer, most frequent first."""


def fidelity(study: Study, tables: Mapping[str, pl.LazyFrame]) -> tuple[PageFidelity, ...]:
    """Return one entry per visited page of the study. `tables` are a capsule's tables."""
    loaded = tables["visits"].filter(pl.col("outcome") == "loaded").select(_VISIT)
    visits = _collect(loaded.group_by("page", "stack").len())
    served = tables["served"].join(loaded, on=_VISIT, how="semi")
    requests = tables["requests"].join(loaded, on=_VISIT, how="semi")
    urls = _collect(served.select("page", "url").unique())
    gaps = pl.concat([_collect(_inexact(served)), _collect(_unanswered(requests, served))])

    def one(page: Page) -> PageFidelity:
        recorded = {r.url for r in page.resources}
        return PageFidelity(
            page=page,
            visits=dict(visits.filter(pl.col("page") == page.name)["stack", "len"].iter_rows()),
            asked=len(recorded & set(urls.filter(pl.col("page") == page.name)["url"])),
            recorded=len(recorded),
            gaps=_gaps(gaps.filter(pl.col("page") == page.name)),
        )

    return tuple(one(page) for page in study.pages if page.name in set(visits["page"]))


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")


def _inexact(served: pl.LazyFrame) -> pl.LazyFrame:
    odd = served.filter(pl.col("match").is_in(list(_MATCHES)))
    answer = pl.col("match").replace_strict(_MATCHES, return_dtype=pl.String).alias("answer")
    return _counts(odd.select("page", "stack", _ADDRESS, answer))


def _unanswered(requests: pl.LazyFrame, served: pl.LazyFrame) -> pl.LazyFrame:
    reached = served.select(*_VISIT, _ADDRESS)
    lost = requests.filter(pl.col("protocol").is_null()).select(*_VISIT, "error", _ADDRESS)
    error = pl.when(pl.col("error") == "").then(pl.lit("under way when the visit ended"))
    told = (
        pl.when(pl.col("error") == _NO_HOST)
        .then(pl.lit("never sent: the recording has no such host"))
        .otherwise(pl.lit("never answered: ") + error.otherwise("error"))
        .alias("answer")
    )
    gone = lost.join(reached, on=[*_VISIT, "address"], how="anti")
    return _counts(gone.select("page", "stack", "address", told))


def _counts(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.group_by("page", "stack", "address", "answer").len()


def _gaps(rows: pl.DataFrame) -> tuple[AddressGap, ...]:
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows.sort("stack").iter_rows(named=True):
        found.setdefault((row["address"], row["answer"]), {})[row["stack"]] = row["len"]
    ordered = sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return tuple(AddressGap(address=a, answer=w, requests=counts) for (a, w), counts in ordered)
