"""axe-core finds no violation on any page, in the real browser. axe is the engine of browsers' own
audits. It finds about half of the problems of people who depend on a keyboard or a screen reader.
The tests beside it cover keys, pictures and colours."""

import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import simulate

import reader as patient
from dragstrip.browsers import cdp
from dragstrip.results.capsule import Capsule
from dragstrip.watch.serve import watching
from reader import Reader, reader
from written_pages import WRITTEN

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = """axe.run({exclude: ['svg > *']}, {preload: false, resultTypes: ['violations'], ...ONLY})
    .then(found => { window.against = found.violations.map(v => [v.impact, v.id, v.help,
        v.nodes.length, v.nodes[0].html.slice(0, 200)]) }); 0"""
"""Marks inside pictures are left out: what a picture says stands in its name."""
NARROW = "runOnly: ['scrollable-region-focusable', 'target-size']"
"""Rules whose answer depends on the width of the screen."""
DRAWN = "[...document.querySelectorAll('.vega')].every(box => box.querySelector('svg'))"


SETTLED = """delete window.against; new Promise(done =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"""
"""Waits until the page knows its new width."""
UNNAMED = """[...document.querySelectorAll('svg, canvas, img, video')].filter(e =>
    !e.closest('[aria-hidden=true]') && !e.parentElement.closest('svg, [role=img]')
    && !(e.getAttribute('aria-label') || e.alt || e.querySelector(':scope > title')
    || e.closest('[role=graphics-document][aria-label]'))).map(e => e.outerHTML.slice(0, 120))"""
"""Pictures without a name for screen readers."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((cdp, "_CALL_TIMEOUT_S"), (patient, "_PATIENCE_S")):
            patch.setattr(module, name, 300)  # axe is slow on a busy machine
        with reader(tmp_path_factory.mktemp("home")) as opened:
            yield opened


def violations(browser: Reader, only: str = "") -> list[list[object]]:
    """Violations on the open page: impact, rule, its help, number of elements, the first."""
    browser.ask(f"{AXE}; 0")
    browser.ask(RUN.replace("ONLY", f"{{{only}}}"))
    browser.until("window.against !== undefined")
    found: list[list[object]] = browser.ask("against")
    return found


def against(browser: Reader, page: Path) -> list[object]:
    """Violations at two widths, and pictures without a name."""
    browser.resize(1280)
    browser.open(page)
    browser.until(DRAWN)
    found = [*violations(browser), *browser.ask(UNNAMED)]
    browser.resize(400)
    browser.ask(SETTLED)
    return [*found, *violations(browser, NARROW)]


@pytest.mark.parametrize("kind", WRITTEN)
def test_axe_finds_no_violation_and_every_picture_has_a_name(browser, tmp_path, kind):
    pages = WRITTEN[kind](tmp_path / "pages")
    found = {page.name: said for page in pages if (said := against(browser, page))}
    assert found == {}
    assert browser.errors == []


def test_axe_finds_no_violation_on_the_live_page(browser, tmp_path):
    of = simulate.study(pages=(simulate.page("demo", 14, 2),), networks=("LTE", "DA2GC"), runs=6)
    with Capsule.create(tmp_path / "capsule", simulate.manifest(of)) as capsule:
        for visit in simulate.visits(of):
            capsule.append(visit)
        told: list[str] = []
        ready = threading.Event()
        with watching(capsule.path, lambda at: (told.append(at), ready.set())):
            assert ready.wait(20)
            browser.resize(1280)
            browser.visit(told[0])
            browser.until("document.querySelectorAll('#last button').length === 12")
            browser.until("document.querySelector('#shown svg') !== null")
            assert [*violations(browser), *browser.ask(UNNAMED)] == []
            browser.visit("about:blank")


def test_axe_finds_what_is_planted(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><html><title>x</title><img src=''><input>", encoding="utf-8")
    browser.open(page)
    rules = {rule for _, rule, *_ in violations(browser)}
    assert {"html-has-lang", "image-alt", "label"} <= rules
