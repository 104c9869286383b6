"""The page of all claims in a real browser: its table stands alone, and its script filters it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown import markdown
from test_accessibility import violations

from reader import Reader, reader

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SHOWN = "[...document.querySelectorAll('#claims tbody tr')].filter(r => r.checkVisibility()).length"
SAID = "document.querySelector('.claims-filter output').textContent"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as the site draws it, without the site around it."""
    folder = tmp_path_factory.mktemp("claims")
    made = markdown((RESULTS / "papers.md").read_text(), extensions=["tables", "md_in_html"])
    shutil.copy(RESULTS / "papers.js", folder)
    shutil.copy(RESULTS.parent / "site.css", folder)
    target = folder / "papers.html"
    head = '<meta charset="utf-8"><title>Claims</title><link rel="stylesheet" href="site.css">'
    target.write_text(f'<!doctype html><html lang="en">{head}<main>{made}</main>')
    return target


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def choose(browser: Reader, field: str, value: str) -> None:
    browser.ask(
        f"(() => {{ const field = document.forms[0].elements['{field}']; field.value = '{value}';"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_filters_leave_the_claims_that_fit_them_all(browser, page):
    browser.open(page)
    assert browser.ask(SHOWN) == 141
    choose(browser, "paper", "megyesi2016")
    assert browser.ask(SHOWN) == 20
    assert browser.ask(SAID) == "20 of 141 claims"
    choose(browser, "answer", "not testable")
    assert browser.ask(SHOWN) == 2
    choose(browser, "words", "FEC saves nothing")
    assert browser.ask(SHOWN) == 0
    choose(browser, "words", "fec")
    assert browser.ask(SHOWN) == 1
    assert browser.errors == []


def test_a_link_opens_the_table_as_it_was_filtered(browser, page):
    browser.open(page)
    choose(browser, "paper", "cook2017")
    link = browser.ask("location.href")
    assert link.endswith("#paper=cook2017")
    browser.visit("about:blank")
    browser.visit(link)
    assert browser.ask(SHOWN) == 18
    choose(browser, "paper", "")
    assert "#" not in browser.ask("location.href")


def test_without_the_script_every_claim_stands(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=page.as_uri())
        browser.until("document.querySelectorAll('#claims tbody tr').length === 141")
        assert browser.ask("document.querySelector('.claims-filter')") is None
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_axe_finds_no_violation(browser, page):
    browser.open(page)
    assert violations(browser) == []
