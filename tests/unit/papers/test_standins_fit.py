"""The fit of wolsing2019's stand-ins to published SpeedIndex values, and how near they came."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from dragstrip.pages import corpus

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "packages" / "papers" / "bench"))

from standins_fit import (  # noqa: E402
    LINKS,
    Made,
    Seen,
    Surface,
    Three,
    first_guess,
    next_guess,
    published,
    three,
)

LOADS = pl.read_csv(ROOT / "docs" / "results" / "stand-ins.csv")
SURFACE = Surface(late=0.8, trips_each=2.0)


def test_four_networks_tell_three_numbers():
    told = Three(wait_ms=400, trips=9, kilobytes=700)
    assert three(LINKS, told.over(LINKS)) == pytest.approx(told, rel=0.01)


def test_three_networks_are_helped_by_the_typical_site():
    told = Three(wait_ms=400, trips=9, kilobytes=700)
    few = LINKS[:3]
    assert three(few, told.over(few), told) == pytest.approx(told, rel=0.01)
    far = three(few, told.over(few), Three(wait_ms=4000, trips=9, kilobytes=700))
    assert far.wait_ms == pytest.approx(told.wait_ms, rel=0.3)


def test_a_heavier_site_has_a_heavier_page_and_a_single_server_stays_single():
    light, heavy = (first_guess(Three(300, 9, kb), alone=False) for kb in (100, 2000))
    assert light.size < heavy.size
    assert light.objects < heavy.objects
    assert light.hosts < heavy.hosts
    assert first_guess(Three(300, 9, 100), alone=True).hosts == 1
    assert first_guess(Three(300, 0, 100), alone=False).scripts == 1


@pytest.mark.parametrize("wanted", [Three(900, 13, 1200), Three(100, 5, 300)])
def test_the_next_page_is_nearer(wanted):
    made = Made(objects=60, size=1_000_000, hosts=8, share=0.3, scripts=3, wait_ms=500)

    def times(page):
        """Times of a page whose parts behave exactly as the surface predicts."""
        return Three(0.8 * page.wait_ms, 3 + 2 * page.scripts, page.size / 1250).over(LINKS)

    seen = Seen(made, dict(zip(LINKS, times(made), strict=True)))
    found = next_guess(SURFACE, seen, LINKS, wanted.over(LINKS))
    errors = [np.abs(np.log(times(p) / wanted.over(LINKS))).max() for p in (made, found)]
    assert errors[1] < 0.1 < errors[0]
    assert replace(found, size=0, scripts=0, wait_ms=0) == replace(
        made, size=0, scripts=0, wait_ms=0
    )


def test_every_site_was_published_over_every_network():
    found = published()
    assert len(found) == 38
    assert all(set(times) == set(LINKS) for times in found.values())
    assert sorted(found) == sorted(p.like for p in corpus.known().values() if p.like)


def test_the_stand_ins_are_as_fast_as_was_published():
    theirs, ours = LOADS["published_ms"].to_numpy(), LOADS["here_ms"].to_numpy()
    assert spearmanr(theirs, ours).statistic > 0.9
    assert 0.8 < np.median(ours / theirs) < 1.25


def test_the_loads_are_of_the_corpus():
    for page, site in LOADS.select("page", "site").unique().iter_rows():
        assert corpus.known()[f"wolsing2019/{page}"].like == site
    wanted = published()
    for row in LOADS.iter_rows(named=True):
        link = next(k for k in LINKS if k == (row["rate_mbps"], row["rtt_ms"]))
        assert wanted[row["site"]][link] == row["published_ms"]
