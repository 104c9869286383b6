"""Fitted stand-ins, older ones and recordings in the place of a paper's sites."""

import polars as pl
import pytest

from dragstrip.model.errors import InputError
from dragstrip.pages import corpus
from dragstrip_papers.answers.findings import findings
from dragstrip_papers.answers.ran import Ran
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import published
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.boxes import labelled
from dragstrip_papers.report.claims import markdown
from dragstrip_papers.report.pairs import short
from dragstrip_papers.sites import as_loaded, kinds_of_pages, older, with_recordings
from made_loads import as_if_run

PAPER = published("wolsing2019")
ETSY = "wolsing2019-standin-09"


def loads(*pages, standin=True):
    return pl.DataFrame({"page": pages, "standin": [standin] * len(pages)})


@pytest.fixture
def folder(tmp_path):
    for name in ("wikipedia.warc.gz", "www.github.com.har", "googleuk.warc.gz", "etsy.txt"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def test_a_page_is_called_by_what_it_has_of_a_site():
    assert corpus.label(ETSY) == "wolsing2019-standin-09 (etsy.com's SpeedIndex)"
    assert short(ETSY) == "standin-09 (etsy.com's SpeedIndex)"
    assert labelled(short(ETSY), loads(ETSY)) == short(ETSY)
    assert corpus.label("demo") == "demo"
    old = "wolsing2019-etsy.com"
    assert labelled(short(old), loads(old)) == "etsy.com (stand-in)"


def test_recordings_replace_the_stand_ins_of_their_sites(folder):
    (spec, _) = with_recordings(PAPER.specs(), [folder])
    files = [p for p in spec.pages if not p.startswith("wolsing2019/")]
    assert sorted(files) == [str(folder / "wikipedia.warc.gz"), str(folder / "www.github.com.har")]
    assert len(spec.pages) == 38
    assert kinds_of_pages([spec]) == "36 stand-ins; recordings: wikipedia, www.github.com"


def test_without_recordings_the_page_says_so():
    assert with_recordings(PAPER.specs(), []) == PAPER.specs()
    assert kinds_of_pages(PAPER.specs()) == "38 stand-ins; no recording, see --recordings"
    assert kinds_of_pages(published("megyesi2016").specs()) == ""


def test_a_folder_that_helps_no_page_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"like wikipedia\.warc\.gz"):
        with_recordings(PAPER.specs(), [tmp_path])
    with pytest.raises(InputError, match="there is no such folder"):
        with_recordings(PAPER.specs(), [tmp_path / "none"])


def test_loads_of_older_stand_ins_and_of_recordings_are_found():
    found = as_loaded(loads("wolsing2019-etsy.com", "wikipedia", "wolsing2019-standin-12"))
    assert found == {ETSY: "wolsing2019-etsy.com", "wolsing2019-standin-36": "wikipedia"}
    assert as_loaded(loads("wolsing2019-etsy.com", ETSY)) == {}


def test_only_stand_ins_that_were_chosen_are_older():
    assert older(loads("wolsing2019-etsy.com", ETSY, "biswal2016-small-01")) == (
        "wolsing2019-etsy.com",
    )
    assert older(loads("wikipedia", standin=False)) == ()


@pytest.mark.parametrize("old", [True, False])
def test_a_page_of_answers_says_whether_its_stand_ins_were_chosen(old):
    specs = PAPER.specs()
    cells = space(specs).filter(pl.col("network") == "LTE")
    if old:
        names = {now.name.replace("/", "-"): now.like for now in corpus.known().values()}
        cells = cells.with_columns(
            page=pl.col("page").replace({n: f"wolsing2019-{s}" for n, s in names.items() if s})
        )
    found = findings(PAPER, specs, Ran(), Evidence(as_if_run(cells)))
    assert found.cells_run == 38
    assert ("38 pages of these loads have the name of a site" in markdown(found)) == old
