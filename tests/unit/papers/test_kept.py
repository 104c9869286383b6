"""Kept loads give the same answers without their capsules, and together with other loads."""

import shutil
from pathlib import Path

import msgspec
import polars as pl
import pytest
from msgspec import structs
from typer.testing import CliRunner

import made_capsule
from dragstrip.cli import app
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.verdict import rules
from dragstrip_papers.answers.findings import Findings, findings
from dragstrip_papers.answers.ran import Ran, joined, ran_in
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import published
from dragstrip_papers.evidence import SCHEMA, nothing
from dragstrip_papers.kept import COLUMNS, Kept, keep, read, together
from dragstrip_papers.measured import DoubtfulCell, Evidence
from dragstrip_papers.overall import given
from dragstrip_papers.overall.again import answered
from dragstrip_papers.overall.rows import Row
from dragstrip_papers.report.claims import markdown, page
from made_loads import as_if_run

RESULTS = Path(__file__).parents[3] / "docs" / "results"
PAPER = published("ranjan2019")
LOADS = as_if_run(space(PAPER.specs()))
NAMES = LOADS["page"].unique(maintain_order=True).to_list()
"""Pages."""


def ran(folder, **changes) -> Ran:
    """A capsule's `Ran`, with `changes`."""
    made_capsule.capsule(folder, {"h2": [1000.0] * 5, "h3": [900.0] * 5})
    return structs.replace(ran_in([folder], nothing()), **changes)


def kept(folder, loads=LOADS, paper=PAPER, doubts=None, **changes) -> Kept:
    evidence = Evidence(loads, doubts=doubts or {})
    keep(folder / "loads.parquet", paper, ran(folder / "capsule", **changes), evidence)
    return read(folder / "loads.parquet")


def half(tmp_path, names, **changes) -> Kept:
    """The loads of only these pages."""
    folder = tmp_path / "-".join(names)
    folder.mkdir()
    return kept(folder, LOADS.filter(pl.col("page").is_in(names)), **changes)


def told(evidence: Evidence) -> list[tuple[str, str, str]]:
    found = findings(PAPER, PAPER.specs(), Ran(), evidence)
    return [(claim.id, claim.verdict, claim.ours) for claim in found.claims]


def test_what_is_read_is_what_was_kept(tmp_path):
    lost = {
        ("ranjan2019", NAMES[0], "2-0-0", "first"): DoubtfulCell({"QUIC": 3, "h2": 1}, ("QUIC",))
    }
    found = kept(tmp_path, doubts=lost)
    assert found.evidence.loads.equals(LOADS)
    assert found.evidence.doubts == lost
    (made,) = found.ran.made
    assert made.elsewhere == f"{tmp_path.name}/loads.parquet"
    own = structs.replace(found.ran, made=(structs.replace(made, elsewhere=""),))
    assert own == ran(tmp_path / "again")
    assert {p.name for p in tmp_path.iterdir()} == {"capsule", "loads.parquet", "again"}


def test_every_column_is_explained():
    assert list(COLUMNS) == list(SCHEMA)


def test_they_answer_as_the_loads_they_were(tmp_path):
    assert told(kept(tmp_path).evidence) == told(Evidence(LOADS))


def test_two_halves_answer_as_the_whole(tmp_path):
    first, second = half(tmp_path, NAMES[:1]), half(tmp_path, NAMES[1:])
    _, both = together(PAPER, Ran(), Evidence(nothing()), [first, second])
    assert told(first.evidence) != told(Evidence(LOADS)) == told(both)


def test_page_and_text_name_the_table(tmp_path):
    found = kept(tmp_path)
    answered = findings(PAPER, PAPER.specs(), found.ran, found.evidence)
    source = f"made, from {tmp_path.name}/loads.parquet"
    assert f"{source}: 10 visits" in markdown(answered)
    assert source in page(answered, [])
    assert "report/index.html" not in page(answered, [])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"clock": NETWORK},
            "its clock is virtual time without computing, that of .* is real time",
        ),
        ({"client": "loader"}, "its client is loader, that of .* is browser"),
        ({"paper": published("cook2017")}, "its loads are of cook2017, not of ranjan2019"),
        ({"paper": published("ranjan2019").native()}, "over its own protocols; add --native"),
    ],
)
def test_what_is_no_evidence_together_is_refused(changes, said, tmp_path):
    others = [half(tmp_path, NAMES[:1]), half(tmp_path, NAMES[1:], **changes)]
    with pytest.raises(InputError, match=said):
        together(PAPER, Ran(), Evidence(nothing()), others)


def test_a_cell_that_both_have_is_refused(tmp_path):
    others = [half(tmp_path, NAMES[:2]), half(tmp_path, NAMES[1:])]
    with pytest.raises(InputError, match=f"both have {NAMES[1]} over .*leave out one"):
        together(PAPER, Ran(), Evidence(nothing()), others)
    own = Evidence(LOADS.filter(page=NAMES[0]))
    with pytest.raises(InputError, match=f"this folder both have {NAMES[0]}"):
        together(PAPER, others[0].ran, own, [others[0]])


def test_the_rules_of_all_parts_are_told(tmp_path):
    first = ran(tmp_path / "a", then=("a",), began="2026-11-05")
    second = ran(tmp_path / "b", then=("b", "a"), began="2026-11-01")
    both = joined([first, second])
    assert (both.then, both.began) == (("a", "b"), "2026-11-05")
    assert both.made == first.made + second.made
    parts = [Ran(then=("a",), began="2026-11-01"), Ran(then=("b", "a"), began="2026-11-05")]
    assert joined(parts) == Ran(then=("a",), began="2026-11-01")  # nothing was run in either


def test_other_files_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "loads.parquet"
    with pytest.raises(InputError, match=r"loads\.parquet cannot be read"):
        read(file)
    file.write_text("no table")
    with pytest.raises(InputError, match=r"loads\.parquet cannot be read"):
        read(file)
    pl.DataFrame({"stack": ["h2"]}).write_parquet(file)
    with pytest.raises(InputError, match="that `dragstrip reproduce` made"):
        read(file)
    LOADS.write_parquet(file, metadata={"dragstrip": "{}"})
    with pytest.raises(InputError, match="another version of dragstrip"):
        read(file)
    kept(tmp_path)
    monkeypatch.setattr("dragstrip_papers.kept.STANDS_SINCE", rules.VERSION + 1)
    with pytest.raises(InputError, match=f"rules {rules.VERSION} of the verdict .* --minutes 0"):
        read(file)


@pytest.mark.parametrize("scale", [[], ["--scale", "paper"]])
def test_reproduce_answers_with_them_and_keeps_them(scale, tmp_path):
    file = kept(tmp_path).file
    out = tmp_path / "out"
    asked = ["reproduce", "ranjan2019", "--minutes", "0", "--out", str(out), "--with", str(file)]
    asked += scale
    done = CliRunner().invoke(app, asked, standalone_mode=False)
    assert done.exception is None
    found = msgspec.json.decode((out / "claims.json").read_bytes(), type=Findings)
    assert [(c.id, c.verdict, c.ours) for c in found.claims] == told(Evidence(LOADS))
    assert read(out / "loads.parquet").evidence.loads.equals(LOADS)
    assert given.of_folder(out, "page", "command").way == "browser"


@pytest.mark.parametrize(
    "file", sorted((RESULTS / "loads").glob("*.parquet")), ids=lambda f: f.stem
)
def test_published_loads_give_the_published_answers(file):
    """Today's rules answer. If they give another answer, run packages/papers/bench/papers.py
    --again."""
    published_answers = next(g for g in given.read(RESULTS / "answers") if g.page == file.stem)
    again = answered(read(file))
    assert [(c.id, c.verdict, c.direction, c.size, c.ours) for c in again.claims] == [
        (told.id, told.answer, told.direction, told.size, told.ours)
        for told in published_answers.answers
    ]


def test_a_clone_derives_the_answers_of_papers_json_whose_loads_are_kept(tmp_path):
    """Answers from two of cook2017's tables, as `reproduce cook2017 --from docs/results/loads`
    gives them for all."""
    for name in ("cook2017-loss", "cook2017-4g"):
        shutil.copy(RESULTS / "loads" / f"{name}.parquet", tmp_path)
    asked = ["reproduce", "cook2017", "--from", str(tmp_path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, asked, standalone_mode=False)
    assert done.exception is None
    found = rows_in(tmp_path / "out" / "papers.json")
    wanted = {
        name: row
        for name, row in rows_in(RESULTS / "papers.json").items()
        if row.page in ("cook2017-loss", "cook2017-4g")
    }
    assert len(wanted) >= 5
    for name, row in wanted.items():
        mine = found[name]
        assert (mine.answer, mine.direction, mine.size, mine.ours, mine.page) == (
            row.answer,
            row.direction,
            row.size,
            row.ours,
            row.page,
        )
        assert f"{name}: {row.answer} (direction" in done.stdout


def rows_in(file: Path) -> dict[str, Row]:
    return {row.id: row for row in msgspec.json.decode(file.read_bytes(), type=list[Row])}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--from", "{}"], "has no table of loads"),
        (["cook2017", "--from", "{}"], "has no table of loads of cook2017"),
        (["nobody2020", "--from", "{}"], "unknown paper 'nobody2020'"),
        ([], "which paper"),
    ],
)
def test_where_there_is_nothing_to_answer_from_it_says_so(asked, said, tmp_path):
    words = [word.format(tmp_path) for word in asked]
    done = CliRunner().invoke(app, ["reproduce", *words], standalone_mode=False)
    assert said in str(done.exception)
