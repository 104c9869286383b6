"""One answer for each claim: which of several runs counts, and what an open one needs."""

from pathlib import Path

import msgspec
import polars as pl
import pytest
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip_papers.answers.absent import absent
from dragstrip_papers.answers.more import More
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import KEYS, published
from dragstrip_papers.overall.clocks import by_clock
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, Given, Told, read, write
from dragstrip_papers.overall.headline import Headline, headlines
from dragstrip_papers.overall.needs import least, powers, ways
from dragstrip_papers.overall.rows import rows
from dragstrip_papers.report.overall import short
from dragstrip_papers.report.overall_pages import pages

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
RESULTS = ROOT / "docs" / "results"
POWER = ROOT / "docs" / "reference" / "claims-power.json"
POWERS = powers(POWER)
MORE = More(of="blocks", have=31, need=62, answer="contradicted")
CLAIMS = {claim.id: (published(key), claim) for key in KEYS for claim in published(key).claims}


def run(
    way, answer, *, loads=5, page="a", made="2026-11-25", claim="megyesi2016-06", clock="", **more
):
    told = Told(id=claim, answer=answer, ours="1.5", loads=loads, stacks="surrogate", **more)
    return Given(
        paper=claim.split("-")[0],
        page=page,
        way=way,
        clock=clock or ("network" if way in IN_VIRTUAL_TIME else "real"),
        made=made,
        rules="",
        frozen=False,
        source="capsule",
        command="",
        answers=(told,),
    )


def row(*given, claim="megyesi2016-06"):
    return next(r for r in rows([CLAIMS[claim][0]], given, POWERS) if r.id == claim)


@pytest.mark.parametrize(
    ("runs", "answer", "way"),
    [
        ([("browser", "reproduced"), ("native", "contradicted")], "contradicted", "native"),
        ([("virtual", "reproduced"), ("browser", "contradicted")], "contradicted", "browser"),
        ([("loader", "reproduced"), ("virtual", "open")], "reproduced", "loader"),
        ([("native", "open"), ("virtual", "equivalent")], "equivalent", "virtual"),
        ([("browser", "not testable"), ("virtual", "reproduced")], "reproduced", "virtual"),
        ([("browser", "not testable"), ("virtual", "open")], "open", None),
        ([("browser", "not testable"), ("virtual", "not testable")], "not testable", None),
    ],
)
def test_the_way_nearest_to_the_paper_that_decides_counts(runs, answer, way):
    found = row(*(run(*one) for one in runs))
    assert (found.answer, found.way) == (answer, way)
    assert set(found.sources) == {one[0] for one in runs}


def test_an_open_claim_shows_the_try_that_ran_all_its_cells():
    grid = "biswal2016-07"
    few, edge = "171 of its 180 cells are not run", "the interval reaches over the edge"
    part = run("browser", "open", page="part", run=9, why=few, claim=grid)
    whole = run("loader", "open", page="whole", run=180, why=edge, claim=grid)
    found = row(part, whole, claim=grid)
    assert (found.page, found.why) == ("whole", "the interval reaches over the edge")
    assert row(structs.replace(part, way="native"), part, claim=grid).page == "part"
    more = run("virtual", "open", page="more", run=10, claim=grid)
    assert row(part, more, claim=grid).page == "part"  # neither ran all cells


def test_an_open_claim_about_noise_shows_a_try_with_noise():
    counted = "wolsing2019-30"  # over links that lose nothing
    noisy = run("browser", "open", page="noisy", run=64, claim=counted)
    still = run("virtual", "open", page="still", run=76, claim=counted)
    assert row(noisy, still, claim=counted).page == "noisy"
    assert row(still, claim=counted).page == "still"  # it counts because no other was run


def test_of_one_way_a_decided_answer_counts_then_most_loads_then_the_latest():
    open_ = run("browser", "open", loads=100, page="open")
    few = run("browser", "reproduced", loads=5, page="few")
    many = run("browser", "contradicted", loads=10, page="many", made="2026-11-23")
    late = run("browser", "equivalent", loads=10, page="late")
    assert row(open_, few).page == "few"
    assert row(many, few, open_).page == "many"
    assert row(late, many).page == "late"


def test_an_answer_from_loads_comes_before_one_from_print_that_says_the_same():
    rules = CLAIMS["megyesi2016-06"][0].rules
    printed = run("native", "reproduced", page="printed", loads=100, size="reproduced")
    again = run("virtual", "reproduced", page="loads", loads=5, size="reproduced")
    kept = structs.replace(again, rules=rules)
    assert row(printed, again).page == "printed", "both are printed: the nearest"
    assert row(printed, kept).page == "loads"
    assert row(structs.replace(printed, rules=rules), kept).page == "printed", "both have loads"
    other = structs.replace(run("virtual", "contradicted", size="contradicted"), rules=rules)
    assert row(printed, other).page == "printed", "a farther way never overrules a nearer one"
    many = run("virtual", "reproduced", page="many", loads=100, size="reproduced")
    assert row(many, kept).page == "loads", "of one way, too"


def test_a_printed_number_does_not_count_where_as_many_kept_loads_say_otherwise():
    rules = CLAIMS["megyesi2016-06"][0].rules
    printed = run("virtual", "contradicted", page="printed", loads=31)
    kept = structs.replace(run("virtual", "open", page="kept", loads=31, more=MORE), rules=rules)
    assert row(printed, kept).page == "kept"
    assert row(printed, structs.replace(kept, way="loader")).page == "printed", "another way"
    few = structs.replace(run("virtual", "open", loads=30, more=MORE), rules=rules)
    assert row(printed, few).page == "printed", "fewer loads"
    part = structs.replace(run("virtual", "open", loads=31), rules=rules)
    assert row(printed, part).page == "printed", "not all that the claim asks was run"


def test_pages_that_cannot_test_a_claim_stand_unless_others_ran_as_many_cells():
    rows_of_two_pages = "wolsing2019-60"
    whole = run("browser", "not testable", run=4, claim=rows_of_two_pages)
    part = run("virtual", "open", run=1, claim=rows_of_two_pages)
    assert row(whole, part, claim=rows_of_two_pages).answer == "not testable"
    all_ = run("virtual", "open", run=4, claim=rows_of_two_pages)
    assert row(whole, all_, claim=rows_of_two_pages).answer == "open"


def test_both_virtual_clocks_answers_stand_beside_each_other():
    paper, claim = CLAIMS["megyesi2016-06"]
    other = "megyesi2016-07"

    def found(*given):
        listed = by_clock([paper], rows([paper], given, POWERS), given)
        return {one.row.id: (one.agree if one.both else None) for one in listed}

    network = run("virtual", "reproduced", size="reproduced")
    computing = structs.replace(network, page="b", clock="priced-2")
    assert found(network) == {claim.id: None}
    assert found(network, computing) == {claim.id: True}
    apart = run("virtual", "contradicted", size="contradicted", clock="priced-2")
    assert found(network, apart) == {claim.id: False}
    asked = run("virtual", "open", clock="priced-2", claim=other)
    assert found(network, asked) == {claim.id: None}
    decided = run("virtual", "reproduced", clock="priced-2", claim=other)
    assert found(network, decided) == {claim.id: None, other: None}
    assert found(run("browser", "reproduced"), run("loader", "reproduced")) == {}


def test_what_follows_from_a_claim_itself_no_run_changes():
    answers = {c: row(claim=c).answer for c in ("biswal2016-28", "cook2017-18", "wolsing2019-38")}
    assert answers == {
        "biswal2016-28": "derived",
        "cook2017-18": "not testable",
        "wolsing2019-38": "not testable",
    }
    held = run("browser", "contradicted", claim="biswal2016-28")
    assert row(held, claim="biswal2016-28").answer == "derived"


def test_absolute_times_of_lost_pages_are_not_testable():
    paper, claim = CLAIMS["wolsing2019-38"]
    cells = space(paper.specs())
    held = cells.with_columns(standin=pl.lit(value=False))
    other = CLAIMS["wolsing2019-40"][1]
    assert "nytimes.com's SpeedIndex" in absent(claim, reach(claim.predicate, cells))
    assert absent(claim, reach(claim.predicate, held)) == ""
    assert absent(other, reach(other.predicate, cells)) == ""
    found = {
        c
        for c, (p, claim) in CLAIMS.items()
        if absent(claim, reach(claim.predicate, space(p.specs())))
    }
    assert found >= {"wolsing2019-38", "wolsing2019-63"}


def test_an_open_claim_says_what_it_needs():
    found = row()
    assert found.answer == "open"
    assert found.needs
    assert (found.needs.cells, found.needs.blocks) == (4, 100)
    assert found.needs.words().startswith("4 cells x 100 blocks, browser in virtual time")
    assert row(run("browser", "reproduced")).needs is None
    assert found.needs.price() == "1.1 h in virtual time, 1.3 h in real time"
    assert found.needs.price(50) == "33 min in virtual time, 38 min in real time"
    assert least({5: structs.replace(POWERS["megyesi2016-06"][5], true=0.9, false=0.9)}) == 5
    unsure = row(claim="biswal2016-26").needs
    assert "43 % of worlds in which it is true, 0 % of false ones" in unsure.words()


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("megyesi2016-04", ("native", "browser", "virtual")),  # of its time, and we have it
        ("cook2017-01", ("browser", "native")),  # neither rate nor delay
        ("wolsing2019-01", ("browser", "virtual")),  # drawn
        ("biswal2016-06", ("loader", "virtual", "browser")),  # 180 cells
        ("ranjan2019-02", ("virtual", "browser", "native")),
    ],
)
def test_a_claim_is_answered_where_it_belongs(claim, expected):
    paper, asked = CLAIMS[claim]
    assert ways(asked, paper, reach(asked.predicate, space(paper.specs()))) == expected


def test_answers_are_read_as_they_were_written(tmp_path):
    given = run("browser", "open", printed="reproduced", why='a "quoted" reason')
    write(tmp_path, given)
    assert read(tmp_path) == [given]
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(InputError, match=r"b\.json"):
        read(tmp_path)


def test_a_headline_that_the_answers_no_longer_bear_out_is_refused():
    found = [row(run("native", "reproduced"))]
    holds = Headline(paper="megyesi2016", text="{reproduced} of {all}", rests_on={})
    assert holds.words(found) == "1 of 1"
    with pytest.raises(InputError, match="write the headline anew"):
        structs.replace(holds, rests_on={"06": "contradicted"}).words(found)
    with pytest.raises(InputError, match=r"quotes 1\.6"):
        structs.replace(holds, text="1.6", quotes={"06": "1.6"}).words(found)


def test_every_paper_has_a_headline_and_141_claims_an_answer():
    told = headlines(RESULTS / "headlines.toml")
    assert [headline.paper for headline in told] == list(KEYS)
    found = msgspec.json.decode((RESULTS / "papers.json").read_bytes())
    assert len({claim["id"] for claim in found}) == len(found) == 141
    assert all(claim["needs"] or claim["answer"] != "open" for claim in found)
    assert all(claim["why"] for claim in found if claim["answer"] in ("not testable", "derived"))


def test_the_pages_are_made_from_the_answers():
    for name, text in pages(RESULTS, POWER).items():
        assert (RESULTS / name).read_text() == text, "run packages/papers/bench/papers.py"


def test_long_numbers_are_cut_at_a_part():
    assert short("a; b") == "a; b"
    assert short("x" * 80 + "; " + "y" * 80) == "x" * 80 + "; …"
