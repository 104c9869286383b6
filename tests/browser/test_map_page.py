"""The page "which protocol?" in a real browser: it answers as the model does, and obeys clicks."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_accessibility import against, violations

from dragstrip_papers.map.sampled import SAMPLED_FACTORS, ratios
from dragstrip_papers.map.survey import PAIRS, Agreement, PairAgreement, page_data, places, surveyed
from dragstrip_papers.stats.nearest import NEIGHBOURS, outcomes
from made_map import SAMPLE, made_map
from reader import Reader, reader

DOCS = Path(__file__).parents[2] / "docs" / "map"
CHECKED = {
    "stock": PairAgreement(
        whole=Agreement(cells=60, same=45, opposite=2, rank=0.9),
        short=Agreement(cells=10, same=5, opposite=1, rank=0.5),
        longer=Agreement(cells=50, same=40, opposite=1, rank=0.9),
    )
}
SHARES = "document.getElementById('which-protocol').dataset.shares"
ASK = "window.dragstripNearest(window.dragstripMap).ask({values}, ['h2', 'h3'])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("home")) as opened:
        yield opened


@pytest.fixture
def page(tmp_path: Path, browser: Reader) -> Iterator[Reader]:
    """The published page's scripts and markup with cells that follow a rule."""
    for name in ("nearest.js", "page.js", "map.css"):
        shutil.copy(DOCS / name, tmp_path)
    cells = made_map()
    data = page_data(cells, SAMPLE, surveyed(cells, SAMPLE), CHECKED)
    (tmp_path / "cells.js").write_bytes(data)
    markup = "\n".join(re.findall(r"^<.*$", (DOCS / "index.md").read_text(), re.MULTILINE))
    file = tmp_path / "index.html"
    head = "<title>Which protocol?</title><meta charset='utf-8'>"
    body = f"<main><h1>Which protocol?</h1>{markup}</main>"
    file.write_text(f"<!doctype html><html lang='en'>{head}<body>{body}</body></html>")
    browser.open(file)
    yield browser
    assert browser.errors == []


def shares(values: tuple[float, ...]) -> list[float]:
    """Shares of h3, neither and h2 by the model in Python."""
    cells = made_map()
    here = pl.DataFrame(
        {name: [value] for name, value in zip(SAMPLED_FACTORS, values, strict=True)}
    )
    weights = np.asarray(surveyed(cells, SAMPLE).weights)
    far = ((places(cells, SAMPLE) - places(here, SAMPLE)) * weights) ** 2
    near = np.argsort(far.sum(axis=1), kind="stable")[:NEIGHBOURS]
    voted = outcomes(ratios(cells, *PAIRS["stock"]))[near]
    return [float((voted == one).mean()) for one in range(3)]


@pytest.mark.parametrize(
    "values",
    [
        (10.5, 74, 0, 200, 600e3, 32),
        (2, 300, 0.01, 100, 100e3, 8),
        (80, 12, 0.002, 20, 900e3, 1),
        (100, 10, 0, 10, 10e3, 64),
    ],
)
def test_the_page_votes_as_the_model_does(page, values):
    found = page.ask(ASK.format(values=list(values)))
    assert [found[one] for one in ("h3", "neither", "h2")] == pytest.approx(shares(values))
    assert found["low"] <= found["middle"] <= found["high"]


def test_it_answers_for_the_network_that_is_chosen(page):
    assert page.ask(SHARES).split()
    page.ask("document.querySelector('[data-network=\"Slow 3G\"]').click()")
    assert page.ask("document.getElementById('which-protocol').dataset.answer") == "h3"
    said = page.ask("document.querySelector('[data-part=headline]').textContent")
    assert re.fullmatch(r"h3 loads this page faster, by \d+ %\.", said)
    assert "1.6 Mbit/s" in page.ask("document.querySelector('.sliders').textContent")


def test_sliders_tiles_and_stacks_change_the_answer(page):
    page.ask("document.querySelector('[data-network=\"Slow 3G\"]').click()")
    before = page.ask(SHARES)
    page.ask(
        "(() => { const s = document.getElementById('map-rtt_ms'); s.value = 0;"
        " s.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert page.ask("document.querySelector('output[for=map-rtt_ms]').textContent") == "10 ms"
    assert page.ask(SHARES) != before
    page.ask("document.querySelectorAll('.tiles button')[80].click()")  # fastest and nearest
    assert page.ask("document.getElementById('which-protocol').dataset.answer") == "h2"
    assert (
        page.ask(
            "[...document.querySelectorAll('.tiles button')].findIndex(t => "
            "t.classList.contains('own'))"
        )
        == 80
    )
    page.ask("document.querySelector('input[value=tuned]').click()")
    assert page.ask("document.getElementById('which-protocol').dataset.answer") == "neither"


def test_it_fits_a_phone_and_every_control_has_a_name(page):
    page.resize(390)
    assert page.ask("document.documentElement.scrollWidth") <= 390
    nameless = "[...document.querySelectorAll('button, input')].filter(e => !(e.textContent.trim()"
    nameless += " || e.ariaLabel || e.labels?.length)).length"
    assert page.ask(nameless) == 0
    page.resize(1366)


def test_it_doubts_queues_of_few_packets(page):
    doubt = "document.querySelector('[data-part=doubt]').textContent"
    checked = "document.querySelector('[data-part=checked]').textContent"
    assert page.ask(doubt) == ""
    assert page.ask(checked).endswith("the same answer in 80 %.")
    for slider in ("queue_ms", "down_mbps"):
        page.ask(f"document.getElementById('map-{slider}').value = 0")
        moved = "dispatchEvent(new Event('input', {bubbles: true}))"
        page.ask(f"document.getElementById('map-{slider}').{moved}")
    assert page.ask(doubt).startswith("Less sure than it looks: the queue holds ")
    assert page.ask(checked).endswith("the same answer in 50 %.")


def test_axe_finds_no_violation_in_light_and_dark_colours(page, tmp_path):
    assert against(page, tmp_path / "index.html") == []
    page.resize(1280)
    page.ask(
        "document.body.dataset.mdColorScheme = 'slate';"
        "document.body.style.cssText = 'background: #1e2129; color: #e2e4e9'"
    )
    assert violations(page) == []
