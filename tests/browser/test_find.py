"""A cell of a large study is found by words and keys alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import simulate
from msgspec import structs

from dragstrip.model.stack import Stack
from dragstrip.report.site.site import build
from dragstrip.results.capsule import Capsule
from reader import Reader, reader

SHOWN = "[...document.querySelectorAll('table.cells tbody tr:not([hidden]) a')]"
FIELDS = "document.querySelectorAll('.matrix td[data-cell]:not(.off)').length"
STATUS = "document.getElementById('found').textContent"
FOCUS = "document.activeElement.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("home")) as opened:
        yield opened


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven pages on two networks. h3 leads everywhere, in Firefox too."""
    pages = tuple(simulate.page(f"site{i}", 4, 1) for i in range(7))
    of = simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=5)
    firefox = Stack(name="h3-firefox", protocol="h3", browser="firefox")
    of = structs.replace(of, stacks=(*of.stacks, firefox))
    folder = tmp_path_factory.mktemp("many") / "capsule"
    with Capsule.create(folder, simulate.manifest(of)) as capsule:
        for visit in simulate.visits(of, invalid=0, timeouts=0):
            capsule.append(visit)
    return build(Capsule.open(folder))


def typed(browser: Reader, query: str) -> None:
    browser.ask("document.getElementById('query').value = ''; 0")
    for key in query:
        browser.press(key)


def test_words_narrow_the_list_and_the_table(browser, index):
    browser.open(index)
    assert browser.ask(STATUS) == "14 cells"
    browser.press("/")
    typed(browser, "site3 lte")
    assert browser.ask(STATUS) == "1 of 14 cells"
    assert browser.ask(f"{SHOWN}.map(a => a.textContent)") == ["site3 over LTE"]
    assert browser.ask(FIELDS) == 1
    typed(browser, "network:lte -site3")
    assert browser.ask(STATUS) == "6 of 14 cells"
    typed(browser, "page:lte")
    assert browser.ask(STATUS) == "0 of 14 cells"
    browser.press("Escape")
    assert browser.ask(STATUS) == "14 cells"
    assert browser.ask(FIELDS) == 14
    assert browser.errors == []


def test_stack_and_client_are_the_leader_s_and_a_stack_s_name_is_whole(browser, index):
    browser.open(index)
    browser.press("/")
    ahead = "[...document.querySelectorAll('table.cells tbody tr')].filter(r =>"
    for query, held in (
        ("stack:h3-firefox", "r.dataset.stack.split(' ').includes('h3-firefox')"),
        ("stack:h3", "r.dataset.stack.split(' ').includes('h3')"),
        ("client:firefox", "r.dataset.client.includes('firefox')"),
        ("stack:h1", "r.dataset.stack.split(' ').includes('h1')"),
    ):
        typed(browser, query)
        count = browser.ask(f"{ahead} {held}).length")
        assert browser.ask(f"{SHOWN}.length") == count, query


def test_keys_lead_from_the_box_to_a_cell(browser, index):
    browser.open(index)
    browser.press("/")
    typed(browser, "site1 ")
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    assert browser.ask(FOCUS) == "site1 over DA2GC"
    browser.press("ArrowUp")
    browser.press("ArrowUp")
    assert browser.ask("document.activeElement.id") == "query"
    browser.press("Enter")
    browser.until("location.href.includes('/cells/') && document.readyState === 'complete'")
    assert browser.ask("document.querySelector('h1').textContent") == "site1 over LTE"


def test_the_words_stand_in_the_address_and_survive_a_change_of_metric(browser, index):
    browser.open(index)
    browser.press("/")
    typed(browser, "site5")
    browser.ask("document.querySelector('nav.choose a:not([aria-current])').click()")
    browser.until("location.href.includes('/by-') && document.readyState === 'complete'")
    assert browser.ask("document.getElementById('query').value") == "site5"
    assert browser.ask(STATUS) == "2 of 14 cells"
