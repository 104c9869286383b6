"""The report in a real browser: it opens from a disk, follows its reader and prints whole."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import simulate

from dragstrip.audit.judge import summarise
from dragstrip.report.figures.connections import ConnectionPicture
from dragstrip.report.figures.vegalite import figure, layer, name, number
from dragstrip.report.site import visit_page
from dragstrip.report.site.audit import page as audit_page
from dragstrip.report.site.site import build
from dragstrip.results.capsule import Capsule
from reader import Reader, reader
from written_pages import HOSTILE, audit_row

WIDER = """[...document.querySelectorAll('table, figure, p, h1, h2, svg, dl')].filter(e =>
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && (PRINT || !e.closest('.scroll, .cellfigure'))).map(e => e.outerHTML.slice(0, 90))"""
A4_PX = 694
"""The width of an A4 page between margins of 13 mm at 96 dots an inch."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report's folder: three pages on two networks."""
    pages = tuple(simulate.page(name, 14, 2) for name in ("demo", "shop", "news"))
    study = simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=6)
    folder = tmp_path_factory.mktemp("site") / "capsule"
    with Capsule.create(folder, simulate.manifest(study)) as capsule:
        for visit in simulate.visits(study):
            capsule.append(visit)
    return build(Capsule.open(folder)).parent


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("home")) as opened:
        yield opened


@pytest.fixture(scope="module")
def charted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose visits have charts of their connections, named by a hostile path."""
    bars = layer([{"to": 1, "stream": HOSTILE}], "bar", {}, x=number("to"), y=name("stream"))
    chart = ConnectionPicture("Streams", "One row per stream.", figure({**bars, "width": 700}))
    study = simulate.study(pages=(simulate.page("demo", 14, 2),), networks=("LTE",), runs=2)
    folder = tmp_path_factory.mktemp("charted") / "capsule"
    with Capsule.create(folder, simulate.manifest(study)) as capsule:
        for visit in simulate.visits(study):
            capsule.append(visit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visit_page, "captured", lambda *_: True)
        patch.setattr(visit_page, "connection_pictures", lambda *_: [chart])
        return build(Capsule.open(folder)).parent


def drawn(browser: Reader, metric: str) -> None:
    browser.until(f"document.querySelector('.vega')?.dataset.metric === '{metric}'")


def test_every_page_opens_without_an_error_and_fits_desktop_and_phone(browser, site):
    pages = [
        *site.glob("*.html"),
        *site.glob("cells/*.html"),
        *list(site.glob("visits/*.html"))[:4],
    ]
    for page in pages:
        browser.open(page)
        if page.parent.name == "cells":
            drawn(browser, "plt_ms")
        for width in (1366, 390):
            browser.resize(width)
            assert browser.ask(WIDER.replace("PRINT", "false")) == [], (page, width)
            assert browser.ask("document.documentElement.scrollWidth") <= width, (page, width)
        browser.resize(1366)
    assert browser.errors == []


def test_clicks_lead_from_the_summary_to_a_cell_to_a_visit(browser, site):
    browser.open(site / "index.html")
    browser.ask("document.querySelector('.matrix td.lead a').click()")
    browser.until("location.href.includes('/cells/') && document.readyState === 'complete'")
    assert "over" in browser.ask("document.querySelector('h1').textContent")
    browser.ask("document.querySelector('#waterfalls a').click()")
    browser.until("location.href.includes('/visits/') && document.readyState === 'complete'")
    assert browser.ask("document.querySelectorAll('#requests tbody tr').length") == 14
    browser.ask("document.querySelector('.crumbs a').click()")
    browser.until("location.href.includes('/cells/') && document.readyState === 'complete'")
    assert browser.errors == []


def test_the_keyboard_reaches_the_content_and_every_cell(browser, site):
    browser.open(site / "index.html")
    reached = []
    for _ in range(60):
        browser.press("Tab")
        reached.append(browser.ask("document.activeElement.getAttribute('href')"))
    assert reached[0] == "#main"
    cells = {f"cells/{page.name}" for page in (site / "cells").iterdir()}
    assert cells <= set(reached)
    browser.ask("document.querySelector('.matrix td a').focus()")
    browser.press("Enter")
    browser.until("location.href.includes('/cells/') && document.readyState === 'complete'")


def test_the_figure_follows_the_choice_of_metric_and_can_be_taken_along(browser, site):
    browser.open(sorted((site / "cells").iterdir())[0])
    drawn(browser, "plt_ms")
    browser.ask("window.saved = []; window.save = (name, url) => saved.push([name, url]); 0")
    browser.ask(
        "{const s = document.querySelector('select'); s.value = 'ttfb_ms';"
        "s.dispatchEvent(new Event('change'))}"
    )
    drawn(browser, "ttfb_ms")
    assert "first byte" in browser.ask("document.querySelector('.vega svg').textContent")
    browser.ask("document.querySelectorAll('.exports button').forEach(b => b.click())")
    browser.until("saved.length === document.querySelectorAll('.exports button').length")
    names = browser.ask("saved.map(s => s[0])")
    assert {name.rpartition(".")[2] for name in names} == {"svg", "png", "csv"}
    figure = next(n for n in names if n.endswith("ttfb_ms.csv"))
    url = browser.ask(f"saved.find(s => s[0] === '{figure}')[1]")
    text = browser.ask(f"fetch('{url}').then(r => r.text())")
    assert text.splitlines()[0] == "stack,ttfb_ms,share"
    assert len(text.splitlines()) == 1 + 3 * (6 + 2)
    assert browser.errors == []


def test_connections_are_drawn_on_a_visits_page_and_can_be_taken_along(browser, charted):
    (page, *_) = (p for p in charted.glob("visits/*.html") if "packet by packet" in p.read_text())
    browser.open(page)
    browser.until("document.querySelector('#charts svg') !== null")
    shown = browser.ask("document.querySelector('#charts svg').textContent")
    assert HOSTILE[:24] in shown
    browser.ask("window.saved = []; window.save = (name, url) => saved.push(name); 0")
    browser.ask("document.querySelectorAll('#charts .exports button').forEach(b => b.click())")
    browser.until("saved.length === 2")
    assert "taken" not in browser.ask("document.title")
    assert browser.errors == []


def test_the_audits_figures_are_drawn_in_one_file(browser, tmp_path):
    row = audit_row()
    path = tmp_path / "audit.html"
    path.write_text(audit_page("audit", summarise([row]), [row]), encoding="utf-8")
    browser.open(path)
    browser.until("document.querySelectorAll('.vega svg').length === 3")
    assert HOSTILE[:24] in browser.ask("document.querySelectorAll('.vega')[1].textContent")
    assert "taken" not in browser.ask("document.title")
    assert browser.errors == []


def test_on_paper_nothing_is_cut_off(browser, site):
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.resize(A4_PX)
    try:
        for page in [*site.glob("*.html"), *site.glob("cells/*.html")]:
            browser.open(page)
            assert browser.ask(WIDER.replace("PRINT", "true")) == [], page
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
        browser.resize(1366)


def test_a_screen_reader_finds_its_way(browser, site):
    for page in [*site.glob("*.html"), *list(site.glob("cells/*.html"))[:1]]:
        browser.open(page)
        levels = browser.ask("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
        assert levels.count(1) == 1, page
        assert levels[0] == 1, page
        assert all(b <= a + 1 for a, b in pairwise(levels)), page
        assert browser.ask("document.documentElement.lang") == "en"
        bare = "[...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope]'))"
        assert browser.ask(f"{bare}.length") == 0, page
        unnamed = "[...document.querySelectorAll('a, button, select')].filter(e =>"
        unnamed += " !(e.textContent.trim() || e.getAttribute('aria-label'))).length"
        assert browser.ask(unnamed) == 0, page
