"""The report of a simulated study, compared with files that a person has read. After a wanted
change: ``GOLDEN=write pytest tests/golden``, then read the difference."""

import io
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
import simulate
from rich.console import Console

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.data.belief import belief
from dragstrip.report.data.cells import cells
from dragstrip.report.site.site import build
from dragstrip.report.terminal.answer import render
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.stacks import compare
from dragstrip.results.compare.summary import summarise
from dragstrip.results.tables.build import frames

HERE = Path(__file__).parent


def check(name: str, text: str) -> None:
    file = HERE / name
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study() -> Study:
    pages = (simulate.page(resources=12), simulate.page("shop", 9, 2))
    return simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=5)


@pytest.fixture(scope="module")
def visits(study: Study) -> list[Visit]:
    return list(simulate.visits(study, invalid=0.05, timeouts=0.06))


@pytest.fixture(scope="module")
def site(study: Study, visits: list[Visit], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn(study, visits, tmp_path_factory.mktemp("report") / "capsule")


def drawn(study: Study, visits: list[Visit], folder: Path) -> Path:
    """The report's folder."""
    with Capsule.create(folder, simulate.manifest(study)) as capsule:
        for visit in visits:
            capsule.append(visit)
    return build(Capsule.open(folder)).parent


class Words(HTMLParser):
    """The text a reader sees, a line for each block or cell row; figures and scripts left out."""

    silent = frozenset({"script", "style", "svg", "title"})
    lines = frozenset({"p", "h1", "h2", "h3", "tr", "div", "dt", "summary", "footer", "nav"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.hidden: list[str] = []
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.silent:
            self.hidden.append(tag)
        self.text += "\n" if tag in self.lines else " "

    def handle_endtag(self, tag: str) -> None:
        if self.hidden and tag == self.hidden[-1]:
            self.hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.text += data.replace("\n", " ")

    def read(self) -> str:
        lines = (" ".join(line.split()) for line in self.text.splitlines())
        return "\n".join(line for line in lines if line) + "\n"


def rounded(value: object) -> object:
    """Floats to six digits: the last ones differ between mathematics libraries."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [rounded(item) for item in value]
    return value


def test_summary() -> None:
    study = simulate.study(pages=(simulate.page(resources=12),), runs=2)
    visits = list(simulate.visits(study, invalid=0.2, timeouts=0.1))
    found = msgspec.to_builtins(summarise(study.name, visits, compare(study, visits)))
    text = msgspec.json.format(msgspec.json.encode(rounded(found)), indent=1).decode()
    check("summary.json", text + "\n")


def test_the_json_object_keeps_its_contract(study: Study, visits: list[Visit]) -> None:
    found = msgspec.to_builtins(summarise(study.name, visits, compare(study, visits)))
    assert set(found) >= {"study", "blocks", "visits", "comparisons"}
    assert set(found["visits"][0]) >= {
        *("block", "stack", "page", "network", "verdict", "reasons", "outcome"),
        *("protocol_share", "plt_ms", "ttfb_ms", "requests", "bytes"),
    }
    assert set(found["comparisons"][0]) >= {"a", "b", "metric", "ratio", "low", "high", "n"}
    assert found["blocks"] == 20
    assert len(found["visits"]) == len(visits)


def test_terminal(study: Study, visits: list[Visit]) -> None:
    out = io.StringIO()
    table = frames(visits, study)["visits"].with_row_index("row").lazy()
    found = list(cells(study, table))
    Console(file=out, width=100, color_system=None).print(
        render(study, found, belief(study, table))
    )
    check("terminal.txt", "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


def read(page: Path) -> "Words":
    return Words(page.read_text(encoding="utf-8"))


def test_the_first_page(site: Path) -> None:
    check("report.txt", read(site / "index.html").read())


def test_a_cells_page(site: Path) -> None:
    check("cell.txt", read(site / "cells" / "4-shop-over-DA2GC.html").read())


def test_every_link_leads_somewhere_in_the_report_and_nothing_comes_from_elsewhere(
    site: Path,
) -> None:
    loads = {"src", "href", "data", "poster", "srcset", "action", "xlink:href"}
    pages = list(site.rglob("*.html"))
    wanted = {
        (page.parent / unquote(attrs[name] or "").partition("#")[0]).resolve()
        for page in pages
        for _, attrs in read(page).tags
        for name in loads & set(attrs)
    }
    assert len(wanted) > 20
    assert [path for path in wanted if not path.exists()] == []
    assert all(path.is_relative_to(site) for path in wanted)
    assert set(pages) <= wanted  # no page is an island
    assert "@import" not in (site / "assets" / "report.css").read_text()


def test_text_from_the_page_stays_text(site: Path, study: Study) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert any("alert(&#39;url&#39;)" in text for text in texts.values())
    assert not any("<script>alert" in text for text in texts.values())
    assert "b>x</b>" in read(site / "verdicts.html").read()  # the reason's text is escaped
    scripts = [tag for tag, _ in read(site / "verdicts.html").tags if tag == "script"]
    assert len(scripts) == 1


def test_every_invalid_visit_is_shown_with_its_reason_and_leads_to_its_page(
    site: Path, visits: list[Visit]
) -> None:
    invalid = [v for v in visits if not v.valid]
    table = read(site / "verdicts.html").read().split("Every invalid visit\n")[1]
    assert table.count("visit\n") == len(invalid) > 0
    for visit in invalid:
        (reason,) = visit.reasons
        assert f"{reason.code} {reason.detail}" in table
    said = [read(page).read() for page in (site / "visits").glob("*.html")]
    assert sum("What to do:" in text for text in said) == len(invalid)


def test_a_visit_that_is_asked_for_gets_a_page(
    tmp_path: Path, study: Study, visits: list[Visit]
) -> None:
    folder = tmp_path / "capsule"
    before = {p.name for p in (drawn(study, visits, folder) / "visits").iterdir()}
    counted = [v for v in visits if v.valid]
    asked = [v.id for v in counted[:10]]
    after = {p.name for p in (build(Capsule.open(folder), asked).parent / "visits").iterdir()}
    assert before < after
    assert len(after - before) <= 10


def test_a_report_of_many_cells_lists_them_in_the_terminal() -> None:
    networks = ("LTE", "DA2GC")
    pages = tuple(simulate.page(f"p{i}", 5, 1) for i in range(7))
    study = simulate.study(pages=pages, networks=networks, runs=5)
    out = io.StringIO()
    made = frames(simulate.visits(study), study)["visits"].with_row_index("row").lazy()
    Console(file=out, width=100).print(render(study, list(cells(study, made)), belief(study, made)))
    rows = [line for line in out.getvalue().splitlines() if line.startswith("│")]
    assert len(rows) == 14


@pytest.mark.parametrize(
    ("runs", "invalid", "said"),
    [(0, 0, "no visits were made"), (2, 1, "none of 2 blocks counts; every one ended with an")],
    ids=["empty", "all invalid"],
)
def test_a_capsule_without_an_answer_says_so(
    tmp_path: Path, runs: int, invalid: float, said: str
) -> None:
    study = simulate.study(runs=runs)
    made = drawn(study, list(simulate.visits(study, invalid=invalid)), tmp_path / "c")
    text = read(made / "index.html").read()
    assert f"No answer for demo over LTE: {said}" in text
