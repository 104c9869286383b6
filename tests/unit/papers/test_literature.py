"""Claims that others published after the five papers name their source and how it was read."""

import pytest
from msgspec import structs
from typer.testing import CliRunner

import made_capsule
from dragstrip.cli import app
from dragstrip.model.clock import NETWORK
from dragstrip_papers.answers.findings import NO_COMPUTING, Findings, findings
from dragstrip_papers.answers.ran import Ran, ran_in
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import KEYS, Claim, Published, _File, published
from dragstrip_papers.evidence import nothing
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.claims import markdown, page
from dragstrip_papers.sources import Source

LEAST = 40


@pytest.fixture(scope="module")
def literature() -> Published:
    return published("literature")


@pytest.fixture(scope="module")
def unrun(literature) -> Findings:
    return findings(literature, literature.specs(), Ran(), Evidence(nothing()))


def test_at_least_forty_claims_have_a_predicate(literature):
    assert sum(claim.predicate is not None for claim in literature.claims) >= LEAST


def test_every_source_is_cited_and_from_2017_on(literature):
    cited = {claim.source for claim in literature.claims}
    assert cited == {source.id for source in literature.sources}
    for source in literature.sources:
        assert 2017 <= source.year <= 2026
        assert source.link.startswith(("doi:10.", "arXiv:", "https://"))
        assert source.read != "second-hand" or source.note, "through whom"


def test_a_claim_of_an_unknown_source_is_refused(literature):
    claim = structs.replace(literature.claims[0], source="nobody2020")
    with pytest.raises(ValueError, match="'nobody2020' is none of the file's"):
        _File(paper=literature.paper, source=list(literature.sources), claim=[claim])


@pytest.mark.parametrize("key", KEYS)
def test_a_paper_is_its_own_source(key):
    assert not published(key).sources
    assert not any(claim.source for claim in published(key).claims)


def test_what_was_not_read_at_the_source_is_marked_beside_each_claim(literature, unrun):
    read = {source.id: source.read for source in literature.sources}
    assert {claim.id: claim.read for claim in unrun.claims} == {
        claim.id: read[claim.source] for claim in literature.claims
    }
    rows = page(unrun, []).split('<tr id="')
    for claim in unrun.claims:
        (row,) = (row for row in rows if row.startswith(f'{claim.id}"'))
        assert claim.source in row
        assert (f"({claim.read})" in row) == (claim.read in ("abstract", "second-hand"))


def test_page_and_text_list_the_sources_with_their_links(literature, unrun):
    for text in (page(unrun, []), markdown(unrun)):
        for source in literature.sources:
            assert source.link in text
    assert "Sources" not in page(
        findings(published("ranjan2019"), [], Ran(), Evidence(nothing())), []
    )


def test_only_old_and_foreign_stacks_are_surrogates(literature):
    specs = literature.specs()
    names = {stack.name for spec in specs for stack in spec.stacks}
    assert set(literature.paper.stands_for) <= names
    told = {c.id: c.near.stacks for c in findings(literature, specs, Ran(), none()).claims}
    assert told[of(literature, "kakhki2017").id] == "surrogate"
    assert told[of(literature, "trevisan2021").id] == "native"


def test_virtual_time_leaves_out_what_computing_decides(literature):
    specs = literature.specs()
    left = {o.name for o in specs} - {o.name for o in literature.in_virtual_time(specs)}
    assert left == {"literature-fast"}
    done = CliRunner().invoke(app, ["reproduce", "literature", "--virtual", "--dry-run"])
    assert done.exit_code == 0
    assert "literature-edges" in done.stdout
    assert "literature-fast" not in done.stdout


def test_in_virtual_time_a_claim_about_computing_is_not_testable(literature, tmp_path):
    specs = literature.specs()
    cells = space(specs)
    found = findings(literature, specs, ran_in([virtual_capsule(tmp_path)], nothing()), none())
    decided = {
        claim.id
        for claim in literature.claims
        if set(reach(claim.predicate, cells)["study"]) == {"literature-fast"}
    }
    assert {c.source for c in literature.claims if c.id in decided} == {
        "zhang2024",
        "langley2017",
        "nginx1498",
    }
    assert {c.id for c in found.claims if c.why == NO_COMPUTING} == decided
    assert {c.verdict for c in found.claims if c.id in decided} == {"not testable"}


def test_a_source_says_how_it_was_read():
    source = Source(
        id="a", title="T", authors="A", year=2020, venue="V", link="doi:10.1/2", read="abstract"
    )
    assert source.words() == "A, T, V, 2020, doi:10.1/2 (only its abstract was read)"
    heard = structs.replace(source, read="second-hand", note="as B has it")
    assert heard.words().endswith("(second-hand; as B has it)")


def none() -> Evidence:
    return Evidence(nothing())


def of(paper: Published, source: str) -> Claim:
    return next(claim for claim in paper.claims if claim.source == source)


def virtual_capsule(folder):
    study = made_capsule.study(clock=NETWORK)
    made_capsule.capsule(folder, {"h2": [1000.0] * 5, "h3": [900.0] * 5}, of=study)
    return folder
