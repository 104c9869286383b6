"""Which cells are run, what a predicate looks at, and how a paper's folder grows."""

import re

import polars as pl
import pytest
from msgspec import structs

import made
from dragstrip.model.errors import InputError
from dragstrip.model.study import Slow
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip_papers.campaign.choose import choose, cost_s
from dragstrip_papers.campaign.plan import (
    asked_about,
    campaign,
    chosen,
    claims_named,
    of_ones_own,
    spoken_of,
    study_of,
)
from dragstrip_papers.campaign.space import CELL, reach, space
from dragstrip_papers.claims import KNOWN, published


@pytest.mark.parametrize("key", KNOWN)
def test_every_predicate_looks_at_some_cells_of_studies_that_have_its_stacks(key):
    paper = published(key)
    cells = space(paper.specs())
    assert not cells.select(CELL).is_duplicated().any()
    for claim in paper.claims:
        if claim.predicate is None or claim.id == "ranjan2019-12":  # that one is about captures
            continue
        assert len(reach(claim.predicate, cells)), claim.id


def test_a_claim_on_two_networks_reaches_both_and_nothing_else():
    paper = published("cook2017")
    claim = next(c for c in paper.claims if c.id == "cook2017-01")
    found = reach(claim.predicate, space(paper.specs()))
    assert found.select(CELL).rows() == [
        ("cook2017-complex", "delay-0", "first"),
        ("cook2017-complex", "delay-200", "first"),
    ]


@pytest.mark.parametrize("key", KNOWN)
def test_what_is_chosen_fits_and_answers_whole_claims(key):
    paper = published(key)
    cells = space(paper.specs()).with_row_index()
    predicates = [claim.predicate for claim in paper.claims]
    chosen = choose(cells.drop("index"), predicates, 5, 600)
    assert cost_s(cells, chosen, 5) <= 600
    whole = [
        p
        for p in predicates
        if p and len(r := reach(p, cells)) > 0 and set(r["index"]) <= {*chosen}
    ]
    assert whole
    # Nothing that is left would still fit.
    for row in set(range(len(cells))).difference(chosen):
        assert cost_s(cells, [*chosen, row], 5) > 600


def test_no_time_no_cells_and_endless_time_all():
    paper = published("ranjan2019")
    cells = space(paper.specs())
    assert choose(cells, [c.predicate for c in paper.claims], 5, 0) == []
    assert choose(cells, [c.predicate for c in paper.claims], 5, 1e9) == list(range(len(cells)))


@pytest.mark.parametrize(
    ("scale", "runs"),
    [("paper", 50), ("0.1", 5), ("0.01", 1), ("1", 50), ("7/50", 7), ("60/50", 60)],
)
def test_a_share_scales_the_runs_of_every_cell(scale, runs):
    paper = published("ranjan2019")
    (part,) = campaign(paper, paper.specs(), scale, 600)
    assert (len(part.cells), part.runs) == (32, runs)


def test_cells_that_take_long_may_have_fewer_runs(tmp_path):
    paper = published("megyesi2016")
    specs = paper.specs()
    (every,) = campaign(paper, specs, "0.1", 600)
    (fewer,) = campaign(paper, specs, "0.1", 600, slow=Slow(runs=3))
    assert len(fewer.cells) == 48
    assert fewer.seconds < every.seconds / 1.5
    assert study_of(fewer, tmp_path, tmp_path).looks() == (3, 10)
    assert study_of(every, tmp_path, tmp_path).looks() == (10,)


def test_controls_in_some_blocks_cost_less(tmp_path):
    paper = published("ranjan2019")
    fewer = [structs.replace(o, controls_every=6) for o in paper.specs()]
    (every,) = campaign(paper, paper.specs(), "7/50", 600)
    (some,) = campaign(paper, fewer, "7/50", 600)
    study = study_of(some, tmp_path, tmp_path)
    assert some.visits == sum(len(block.order) for block in study.blocks()) == 32 * (7 * 2 + 2 * 2)
    assert some.seconds < every.seconds / 1.5


@pytest.mark.parametrize("scale", ["0", "2", "-1", "large", "nan", "101/1", "1/0"])
def test_another_scale_is_refused(scale):
    with pytest.raises(InputError, match="give smoke, paper or a share"):
        campaign(published("ranjan2019"), published("ranjan2019").specs(), scale, 600)


def test_studies_are_chosen_by_name():
    specs = published("cook2017").specs()
    assert [o.name for o in chosen(specs, ["cook2017-servers"])] == ["cook2017-servers"]
    assert chosen(specs, []) == specs
    with pytest.raises(InputError, match="the paper has cook2017, cook2017-"):
        chosen(specs, ["servers"])


def test_only_the_cells_that_named_claims_look_at_are_run():
    paper = published("ranjan2019")
    claims = claims_named(paper, ["03", "ranjan2019-06"])
    (part,) = campaign(paper, paper.specs(), "20/50", 0, claims=claims)
    wanted = [reach(c.predicate, space(paper.specs())).select(CELL).rows() for c in claims]
    assert set(part.cells.select(CELL).rows()) == {row for rows in wanted for row in rows}
    assert (len(part.cells), part.total, part.runs) == (5, 32, 20)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("99", "--claim '99': ranjan2019 has claims 01 to 12"),
        ("cook2017-01", "--claim 'cook2017-01': ranjan2019 has claims 01 to 12"),
        ("12", "--claim ranjan2019-12: it looks at no cell of ranjan2019"),
    ],
)
def test_a_claim_that_no_cell_answers_is_refused(name, said):
    paper = published("ranjan2019")
    with pytest.raises(InputError, match=f"^{said}$"):
        campaign(paper, paper.specs(), "paper", 0, claims=claims_named(paper, [name]))


def test_a_claim_without_a_rule_is_refused():
    paper = published("megyesi2016")
    names = [c.id for c in paper.claims if c.predicate is None]
    with pytest.raises(InputError, match="it has no rule, so no visit answers it; leave it out"):
        claims_named(paper, names)


def test_pages_of_ones_own_take_the_place_of_the_papers(tmp_path):
    page = write_page(tmp_path / "own.har.zip", synth("2x1KB"))
    (spec,) = of_ones_own(published("ranjan2019").specs(), [str(page.path), "demo"])
    (part,) = campaign(published("ranjan2019"), [spec], "1/50", 0)
    assert part.runs == 1
    assert set(part.cells["page"]) == {page.name, "demo"}
    study = study_of(part, tmp_path, tmp_path / "pages")
    assert {p.name for p in study.pages} == {page.name, "demo"}
    assert set(study.cells()) == set(part.cells.select(CELL).rows())


def test_pages_of_the_paper_narrow_what_is_visited_but_not_what_is_claimed(tmp_path):
    specs = published("biswal2016").specs()
    assert asked_about(specs, []) == specs
    assert asked_about(specs, ["biswal2016/*x100B", "biswal2016/dense-10"]) == specs
    page = str(write_page(tmp_path / "own.har.zip", synth("2x1KB")).path)
    assert {o.pages for o in asked_about(specs, [page])} == {(page,)}
    mixed = asked_about(specs, [page, "biswal2016/dense-10"])
    assert {o.pages for o in mixed} == {(page, "biswal2016/dense-10")}


def test_a_larger_scale_keeps_the_cells_that_were_there(tmp_path):
    paper = published("megyesi2016")
    (part,) = campaign(paper, paper.specs(), "smoke", 120)
    cells = part.cells
    small = structs.replace(part, cells=cells.filter(pl.col("page") == "megyesi2016-few-small"))
    other = structs.replace(part, cells=cells.filter(pl.col("page") != "megyesi2016-few-small"))
    cache = tmp_path / "pages"
    first = study_of(small, tmp_path, cache)
    assert len(first.cells()) == len(small.cells)
    with made_capsule(tmp_path, first):
        pass
    second = study_of(other, tmp_path, cache)
    assert set(second.cells()) == {*first.cells(), *other.cells.select(CELL).rows()}
    with made_capsule(tmp_path, second):  # the same capsule goes on
        pass


@pytest.mark.parametrize(
    ("claims", "stacks"),
    [
        ([], ["TCP", "TCP+", "TCP+BBR", "QUIC", "QUIC+BBR"]),
        (["27"], ["TCP+", "QUIC"]),
        (["27", "29"], ["TCP", "TCP+", "QUIC"]),
    ],
)
def test_named_claims_need_only_the_stacks_they_speak_of(claims, stacks, tmp_path):
    paper = published("wolsing2019")
    named = claims_named(paper, claims)
    spec = spoken_of(paper.specs(), named, paper.parts, tmp_path)[0]
    assert [stack.name for stack in spec.stacks] == stacks


def test_a_claim_about_one_stack_is_raced_against_another(tmp_path):
    paper = published("cook2017")
    named = claims_named(paper, ["05"])
    spec = spoken_of(paper.specs(), named, paper.parts, tmp_path)[0]
    assert [stack.name for stack in spec.stacks] == ["h1-TLS1.2", "QUIC"]


def test_stacks_of_a_protocol_of_the_time_are_known_by_the_part_they_play(tmp_path):
    paper = published("wolsing2019").native()
    named = claims_named(paper, ["27"])
    spec = spoken_of(paper.specs(), named, paper.parts, tmp_path)[0]
    assert [stack.name for stack in spec.stacks] == ["h2-chromium70", "gQUIC"]


def test_a_capsule_keeps_the_stacks_that_other_claims_needed(tmp_path):
    paper = published("wolsing2019")
    page = "wolsing2019/standin-12"
    specs = of_ones_own(paper.specs(), [page])
    few = spoken_of(specs, claims_named(paper, ["27"]), paper.parts, tmp_path)
    part = campaign(paper, few, "1/31", 0, claims=claims_named(paper, ["27"]))[0]
    with made_capsule(tmp_path, study_of(part, tmp_path, tmp_path / "pages")):
        pass
    again = spoken_of(specs, claims_named(paper, ["29"]), paper.parts, tmp_path)[0]
    assert [stack.name for stack in again.stacks] == ["TCP", "TCP+", "QUIC"]


@pytest.mark.parametrize(
    ("claims", "names", "stacks"),
    [
        (["31"], ["TCP+BBR", "TCP+"], ["TCP+", "TCP+BBR"]),
        (["27"], ["TCP", "QUIC", "TCP+"], ["TCP+", "QUIC"]),
        ([], ["QUIC", "TCP"], ["TCP", "QUIC"]),
    ],
)
def test_of_stacks_that_are_named_no_others_are_raced(claims, names, stacks, tmp_path):
    paper = published("wolsing2019")
    named = claims_named(paper, claims)
    spec = spoken_of(paper.specs(), named, paper.parts, tmp_path, names)[0]
    assert [stack.name for stack in spec.stacks] == stacks


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["TCP", "h9"], "--stack 'h9': the studies have TCP, TCP+, TCP+BBR, QUIC, QUIC+BBR"),
        (["TCP"], "--stack TCP: no study has two of these; name more"),
    ],
)
def test_stacks_that_make_no_race_are_refused(names, said, tmp_path):
    paper = published("wolsing2019")
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        spoken_of(paper.specs(), [], paper.parts, tmp_path, names)


def test_without_named_stacks_no_study_is_left_out(tmp_path):
    paper = published("wolsing2019")
    alone = [structs.replace(o, stacks=o.stacks[:1]) for o in paper.specs()]
    named = claims_named(paper, ["27"])
    assert len(spoken_of(alone, named, paper.parts, tmp_path)) == len(alone)
    assert spoken_of([], named, paper.parts, tmp_path) == []


def test_of_networks_that_are_named_no_others_are_visited():
    paper = published("wolsing2019")
    claims = claims_named(paper, ["31"])
    part, other = campaign(paper, paper.specs(), "paper", 0, claims=claims, networks=["LTE"])
    assert set(part.cells["network"]) == {"LTE"}
    assert (len(part.cells), part.total, len(other.cells)) == (38, 152, 0)


@pytest.mark.parametrize(
    ("claims", "network", "said"),
    [
        ([], "5G", "--network '5G': the studies have DSL, LTE, DA2GC, MSS, parity"),
        (["27"], "LTE", "--claim wolsing2019-27: it looks at no cell of wolsing2019"),
    ],
)
def test_a_network_without_cells_is_refused(claims, network, said):
    paper = published("wolsing2019")
    named = claims_named(paper, claims)
    with pytest.raises(InputError, match=f"^{said}"):
        campaign(paper, paper.specs(), "paper", 0, claims=named, networks=[network])


def test_a_capsule_keeps_its_pages_beside_those_of_another_command(tmp_path):
    paper = published("wolsing2019")

    def study(*pages):
        specs = of_ones_own(paper.specs(), [f"wolsing2019/{page}" for page in pages])
        named = claims_named(paper, ["27"])
        kept = spoken_of(specs, named, paper.parts, tmp_path)
        part = campaign(paper, kept, "1/31", 0, claims=named)[0]
        return study_of(part, tmp_path, tmp_path / "pages")

    first = study("standin-12", "standin-35")
    with made_capsule(tmp_path, first):
        pass
    second = study("standin-35", "standin-02")
    assert {b.page.rpartition("-")[2] for b in second.blocks()} == {"12", "35", "02"}
    assert set(first.blocks()) < set(second.blocks())
    with made_capsule(tmp_path, second):  # the same capsule goes on
        pass


def made_capsule(folder, study):
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.manifest import Manifest
    from made_capsule import START

    return Capsule.create(folder / study.name, Manifest(study=study, starts=(START,)))


def test_a_study_of_some_cells_has_only_their_blocks_and_the_same_ones():
    whole = made.study(runs=2, pages=("a", "b", "c"))
    some = structs.replace(whole, only=(("a", "LTE", "first"), ("c", "LTE", "first")))
    blocks = {block.id: block for block in whole.blocks()}
    assert {b.page for b in some.blocks()} == {"a", "c"}
    assert all(blocks[b.id] == b for b in some.blocks())
