"""The page that follows a study, in a real browser: what is made is seen, and nothing else."""

import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import simulate
from msgspec import structs

from dragstrip.results.capsule import Capsule
from dragstrip.watch.serve import watching
from reader import Reader, reader

MACHINES = ("a41c9f02", "77be0d31")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("home")) as opened:
        yield opened


class Run:
    """A study that makes visits on demand."""

    def __init__(self, folder: Path) -> None:
        pages = tuple(simulate.page(name, 14, 2) for name in ("demo", "shop"))
        self.study = simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=7)
        self.capsule = Capsule.create(folder, simulate.manifest(self.study))
        made = list(simulate.visits(self.study))
        blocks = list(dict.fromkeys(v.block for v in made))
        self.left = [structs.replace(v, machine=MACHINES[blocks.index(v.block) % 2]) for v in made]
        self.total = len(self.left)

    def make(self, visits: int) -> None:
        for _ in range(visits):
            self.capsule.append(self.left.pop(0))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    started = Run(tmp_path / "capsule")
    yield started
    started.capsule.close()


@pytest.fixture
def address(run: Run) -> Iterator[str]:
    told: list[str] = []
    ready = threading.Event()
    with watching(run.capsule.path, lambda at: (told.append(at), ready.set())):
        assert ready.wait(20)
        yield told[0]


@pytest.fixture
def page(address: str, browser: Reader) -> Iterator[Reader]:
    """A browser for the live page. It leaves before the server stops, because the page would
    complain."""
    yield browser
    browser.visit("about:blank")


def text(browser: Reader, element: str) -> str:
    return browser.ask(f"document.getElementById('{element}').textContent")


def test_a_visit_appears_when_it_is_made_and_the_page_sees_the_end(run, address, page):
    browser = page
    run.make(30)
    browser.resize(1366)
    browser.visit(address)
    browser.until("document.getElementById('visits').textContent === '30'")
    browser.until("document.querySelectorAll('#last button').length === 12")
    assert text(browser, "state") == "running"
    newest = run.left[0]
    run.make(1)
    browser.until("document.getElementById('visits').textContent === '31'")
    shown = "document.querySelector('#last button').textContent"
    assert newest.stack in browser.ask(shown)
    assert f"{newest.page} over {newest.network} on {newest.machine}" in browser.ask(shown)
    browser.until(
        f"document.querySelector('svg.waterfall')?.ariaLabel === 'Waterfall of {newest.stack}'"
    )
    run.make(len(run.left))
    run.capsule.finish()
    run.capsule.close()
    browser.until("document.getElementById('state').textContent.startsWith('finished')")
    assert text(browser, "visits") == str(run.total)
    browser.until(f"document.querySelectorAll('#ratios tbody tr').length === {4 * 2}")
    browser.until("document.querySelectorAll('#machines tbody tr').length === 2")
    invalid = sum(not v.valid for v in Capsule.open(run.capsule.path).as_made())
    assert text(browser, "invalid").startswith(f"{invalid} (")
    assert browser.errors == []


def test_it_fits_phone_and_desktop_and_names_everything(run, address, page):
    browser = page
    run.make(run.total)
    for width in (1366, 390):
        browser.resize(width)
        browser.visit(address)
        browser.until("document.querySelectorAll('#ratios tbody tr').length === 8")
        assert browser.ask("document.documentElement.scrollWidth") <= width
    unnamed = "[...document.querySelectorAll('a, button')].filter(e => !e.textContent.trim())"
    assert browser.ask(f"{unnamed}.length") == 0
    browser.until("document.querySelector('svg.waterfall') !== null")
    # The pages' own words are text: one of them is a script.
    assert "<script>" in browser.ask("document.querySelector('svg.waterfall').textContent")
    assert browser.ask("document.querySelectorAll('svg.waterfall script').length") == 0
    assert browser.errors == []


def test_only_this_machine_may_read_and_no_one_may_write(run, address):
    run.make(3)
    before = {path: path.stat().st_mtime_ns for path in run.capsule.path.rglob("*")}
    for wrong in (
        urllib.request.Request(address, headers={"Host": "evil.example"}),
        urllib.request.Request(address, method="POST", data=b"x"),
        urllib.request.Request(f"{address}assets/..%2f..%2fserve.py"),
        urllib.request.Request(f"{address}visits/99/waterfall"),
    ):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(wrong, timeout=10)
    assert urllib.request.urlopen(address, timeout=10).status == 200
    assert before == {path: path.stat().st_mtime_ns for path in run.capsule.path.rglob("*")}


@pytest.mark.parametrize("port", [(), ("--port", "0")])
def test_the_command_tells_where_its_page_is(run, port):
    run.make(3)
    argv = [sys.executable, "-c", "from dragstrip.cli import main; main()"]
    argv += ["watch", str(run.capsule.path), *port]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            told = process.stderr.readline()
            if not port:
                assert "8723" in told, told + process.stderr.read()
                if "http" not in told:
                    return  # another page of this machine has the port, and the command says so
            assert told.startswith("watch: http://127.0.0.1:"), told + process.stderr.read()
            with urllib.request.urlopen(told.split()[1], timeout=20) as answer:
                assert answer.status == 200
        finally:
            process.terminate()
