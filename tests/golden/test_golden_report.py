"""What a simulated study reads like, compared with files that a person has looked at.

After a wanted change: ``GOLDEN=write pytest tests/golden``, then read the difference.
"""

import io
import os
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
import simulate
from rich.console import Console

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.html import build
from dragstrip.report.terminal import render
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare import compare
from dragstrip.results.summary import summarise

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
def report(study: Study, visits: list[Visit], tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(study, visits, tmp_path_factory.mktemp("report") / "capsule")


def drawn(study: Study, visits: list[Visit], folder: Path) -> str:
    with Capsule.create(folder, simulate.manifest(study)) as capsule:
        for visit in visits:
            capsule.append(visit)
    opened = Capsule.open(folder)
    return build(opened, list(opened.visits())).read_text(encoding="utf-8")


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
    Console(file=out, width=100, color_system=None).print(render(study, visits))
    check("terminal.txt", "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")


def test_report_text(report: str) -> None:
    check("report.txt", Words(report).read())


def test_the_report_needs_nothing_but_itself(report: str) -> None:
    loads = {"src", "href", "data", "poster", "srcset", "action", "xlink:href"}
    wanted = [attrs[name] or "" for _, attrs in Words(report).tags for name in loads & set(attrs)]
    assert wanted
    assert all(target.startswith("#") for target in wanted)
    assert "@import" not in report
    assert len(report) < 3_000_000


def test_text_from_the_page_stays_text(report: str) -> None:
    read = Words(report)
    tags = [tag for tag, _ in read.tags]
    assert "b>x</b>" in read.read()  # the reason of a mixed visit, as it was written
    assert "alert('url')" in report.replace("&#x27;", "'").replace("&#39;", "'")
    assert "<script>alert" not in report
    figures = sum(attrs.get("type") == "application/json" for _, attrs in read.tags)
    assert tags.count("script") == figures + 2  # the figures, their library and the line that draws


def test_invalid_visits_stand_first(report: str, visits: list[Visit]) -> None:
    rows = Words(report).read().split("Verdicts\n")[-1].splitlines()
    verdicts = [row.split()[0].strip(",") for row in rows if " loaded " in row or "timeout" in row]
    invalid = [v for v in visits if not v.valid]
    assert invalid
    assert "valid" not in verdicts[: len(invalid)]
    assert set(verdicts[len(invalid) :]) == {"valid"}


@pytest.mark.parametrize(
    ("runs", "invalid", "said"),
    [(0, 0, "no visit has been made"), (2, 1, "none of 2 blocks counts; every one ended with an")],
    ids=["empty", "all invalid"],
)
def test_a_capsule_without_an_answer_says_so(
    tmp_path: Path, runs: int, invalid: float, said: str
) -> None:
    study = simulate.study(runs=runs)
    text = Words(drawn(study, list(simulate.visits(study, invalid=invalid)), tmp_path / "c")).read()
    assert f"No answer for demo over LTE: {said}" in text
