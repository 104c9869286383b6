"""Every claim of the five papers has an answer on the page, in the JSON and in the text."""

import json
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from msgspec import structs
from typer.testing import CliRunner

import made_capsule
from dragstrip.cli import app
from dragstrip.model.errors import InputError
from dragstrip.study.gaps import servers
from dragstrip.verdict.rules import VERSION
from dragstrip_papers.answers.findings import VERDICTS, Findings, findings
from dragstrip_papers.answers.ran import Ran, ran_in
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import KEYS, KNOWN, published
from dragstrip_papers.evidence import nothing
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.catalogue import Sources, drawn
from dragstrip_papers.report.claims import csv, markdown, page, summary, write
from made_loads import as_if_run


@cache
def answered(key: str, share: int = 1, *, native: bool = False) -> tuple[Findings, Sources]:
    """The findings of a paper if every `share`-th cell was run."""
    paper = published(key).native() if native else published(key)
    found = paper.specs()
    evidence = Evidence(as_if_run(space(found, paper.parts)[::share]))
    sources = Sources(paper=paper, evidence=evidence, stacks=paper.stacks(found))
    return findings(paper, found, Ran(), evidence), sources


def test_the_five_papers_have_141_answers():
    told = [answered(key, share=4)[0] for key in KEYS]
    claims = [claim for found in told for claim in found.claims]
    assert len(claims) == len({claim.id for claim in claims}) == 141
    for claim in claims:
        assert claim.verdict in VERDICTS
        assert claim.ours or claim.why, claim.id
    assert sum(sum(found.verdicts.values()) + found.restated for found in told) == 141
    assert sum(found.restated for found in told) == 6
    for found in told:
        assert found.cells_run == len(range(0, found.cells_total, 4))
        assert found.cells_run + len(found.left_out) == found.cells_total


def test_where_the_papers_own_protocols_ran_none_is_a_surrogate():
    found, _ = answered("megyesi2016", share=4, native=True)
    assert not found.surrogates
    assert found.cast["TCP-TLS1.2"] == "SPDY"
    assert not any(claim.surrogates for claim in found.claims)
    assert any(claim.players.get("QUIC") == "gQUIC" for claim in found.claims)
    text = page(found, [])
    assert "gQUIC as QUIC" in text
    assert "SPDY plays TCP-TLS1.2" in markdown(found)


def test_a_paper_without_available_stacks_says_so():
    with pytest.raises(InputError, match="no stack of its time"):
        published("biswal2016").native()


NATIVE = [(key, True) for key in KNOWN if published(key).paper.native]


@pytest.mark.parametrize(("key", "native"), [*((key, False) for key in KNOWN), *NATIVE])
def test_page_text_and_figures_of_a_paper(key, native):
    found, sources = answered(key, share=12, native=native)
    figures = drawn(sources)
    assert len(figures) >= (2 if native else 3)
    assert len({f.name for f in figures}) == len(figures)
    html = page(found, figures)
    text = markdown(found)
    assert any(claim.unrun for claim in found.claims)
    for claim in found.claims:
        assert f'id="{claim.id}"' in html
        assert (f'<a id="{claim.id}"></a>{claim.id} |' in text) != claim.unrun
    for figure in figures:
        assert figure.spec["$schema"].endswith(".json")
        assert len(csv(figure).splitlines()) == len(figure.rows) + 1
    for choice in found.choices:
        assert choice.split(":")[0] in html.replace("&#39;", "'")


def test_claims_of_which_nothing_was_run_come_last_and_in_one_line():
    paper = published("wolsing2019")
    specs = paper.specs()
    dsl = space(specs, paper.parts).filter(network="DSL", study="wolsing2019")
    found = findings(paper, specs, Ran(), Evidence(as_if_run(dsl)))
    html, text = page(found, []), markdown(found)
    unrun = [claim for claim in found.claims if claim.unrun]
    assert {"wolsing2019-02", "wolsing2019-48"} <= {claim.id for claim in unrun}
    assert not {"wolsing2019-01", "wolsing2019-38"} & {claim.id for claim in unrun}
    heading = f"Nothing was run here of {len(unrun)} claims, which stay open"
    assert f"{heading}:\n02, 04, " in text
    before, after = html.split(heading)
    assert 'id="wolsing2019-02"' not in before
    assert 'id="wolsing2019-63"' not in after
    assert 'id="wolsing2019-02"' in after


def test_the_summary_names_only_answers_that_there_are():
    found, _ = answered("ranjan2019", share=12)
    counts = dict.fromkeys(VERDICTS, 0) | {"reproduced": 1, "contradicted": 2, "open": 9}
    assert summary(structs.replace(found, verdicts=counts, restated=0)) == (
        "Of 12 claims, 1 is reproduced, 2 are contradicted and 9 are open."
    )


def test_the_folder_holds_page_json_text_and_every_figure_in_four_forms(tmp_path):
    found, sources = answered("ranjan2019", share=8)
    figures = drawn(sources)[1:]
    write(tmp_path, found, figures)
    told = json.loads((tmp_path / "claims.json").read_bytes())
    assert told["rules"] == VERSION
    assert Counter(c["verdict"] for c in told["claims"] if not c["restates"]) == {
        verdict: n for verdict, n in found.verdicts.items() if n
    }
    names = {f"{f.name}.{kind}" for f in figures for kind in ("svg", "png", "csv", "vl.json")}
    assert {p.name for p in (tmp_path / "figures").iterdir()} == names
    assert (tmp_path / "figures" / f"{figures[0].name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_says_how_its_visits_were_made_and_whether_their_noise_is_known(tmp_path):
    paper = published("ranjan2019")
    made_capsule.capsule(tmp_path, {"h2": [1000.0] * 5, "h3": [900.0] * 5})
    found = findings(paper, paper.specs(), ran_in([tmp_path], nothing()), Evidence(nothing()))
    for text in (markdown(found), page(found, [])):
        assert f"made by dragstrip 0.1.0, rules {VERSION}; Linux 6.1, CPU, 2 cores, 8 GiB" in text
        assert "dragstrip race" in text
        assert "no controls were visited, so the noise is unknown" in text


def rows(text: str) -> dict[str, list[str]]:
    """Cells of each claim's row in the text, by id."""
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if "-" in line[:30]]
    return {row[0].rpartition(">")[2]: row for row in table if len(row) == 10}


def test_each_row_says_how_near_its_answer_came_to_the_paper():
    surrogates, _ = answered("megyesi2016", share=4)
    near = rows(markdown(surrogates))["megyesi2016-15"][-1]
    assert near == "by surrogates, on pages as described, 5 of 100 loads, 6 of 24 cells"
    native, _ = answered("megyesi2016", share=4, native=True)
    assert rows(markdown(native))["megyesi2016-15"][-1].startswith("by its own protocols")
    standins, _ = answered("cook2017")
    assert "by surrogates, on stand-ins, 5 of 100 loads" in page(standins, [])
    near = rows(markdown(standins))["cook2017-01"][-1]
    assert near == "by surrogates, on stand-ins, 5 of 100 loads"


def test_the_share_of_loads_that_ended_is_named_beside_the_answers_that_it_concerns():
    paper = published("megyesi2016")
    specs = paper.specs()
    loads = as_if_run(space(specs, paper.parts))
    lost = (pl.col("stack") == "QUIC") & (pl.col("network") == "2M-18ms-2")
    ended = loads.with_columns(censored=lost)
    found = findings(paper, specs, Ran(), Evidence(ended))
    said = {claim.id: claim.caveats for claim in found.claims}
    ended, worst = said["megyesi2016-13"]
    assert ended == "220 of 240 QUIC loads ended, and only these are compared"
    assert worst.startswith("with those as slow as the slowest that ended: ")
    assert not said["megyesi2016-03"], "on another network"
    assert not said["megyesi2016-17"], "of other stacks"


def test_what_our_own_servers_differ_by_is_said_where_no_link_limits_them():
    cook, _ = answered("cook2017")
    said = {claim.id: " ".join(claim.caveats) for claim in cook.claims}
    assert "without a rate limit our origin sends 1 MB over QUIC in 0.841" in said["cook2017-08"]
    assert not said["cook2017-01"], "one stack is compared with itself"
    assert not said["cook2017-10"], "a link of 10 Mbit/s"


@pytest.mark.parametrize("key", KNOWN)
def test_without_a_visit_every_claim_has_a_reason_and_nothing_is_drawn(key):
    paper = published(key)
    found = findings(paper, paper.specs(), Ran(), Evidence(nothing()))
    assert all(claim.why for claim in found.claims)
    assert found.cells_run == 0
    assert "No visits were made" in page(found, [])


def test_servers_that_differ_are_named_beside_claims_and_figures():
    found, sources = answered("megyesi2016", share=12, native=True)
    said = servers(list(sources.stacks.values()))
    assert "h1-TLS1.2, TCP-TLS1.2: node-spdy; QUIC: gquic-origin" in said
    assert "gquic-origin takes" in said
    assert " and node-spdy takes" in said
    named = [claim for claim in found.claims if claim.servers]
    assert said in {claim.servers for claim in named}
    assert len(named) < len(found.claims)
    figures = drawn(sources)
    assert all(figure.caption.endswith(said) for figure in figures)
    number = found.servers[said]
    assert f'<td class="stack">{number}</td><td>{said}</td>' in page(found, figures)
    assert f"\n- {number}: {said}\n" in markdown(found)
    assert markdown(found).count(said) == 1
    told = [c for c in named if c.servers == said and not c.unrun]
    assert markdown(found).count(f"(servers: {number})") == len(told) > 0
    surrogates, _ = answered("megyesi2016", share=12)
    assert not any(claim.servers for claim in surrogates.claims)


def test_reproduce_answers_without_visits_and_says_what_is_left_out(tmp_path):
    arguments = ["reproduce", "megyesi2016", "--minutes", "0", "--out", str(tmp_path / "m")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "0 of 48 cells run" in done.stderr
    told = json.loads((tmp_path / "m" / "claims.json").read_bytes())
    assert len(told["claims"]) == 20
    assert len(told["left_out"]) == 48


def test_a_row_leads_to_the_loads_behind_it():
    paper = published("wolsing2019")
    specs = paper.specs()
    dsl = space(specs, paper.parts).filter(network="DSL", study="wolsing2019")
    found = findings(paper, specs, Ran(), Evidence(as_if_run(dsl)))
    rows = {
        claim: row
        for row in markdown(found, "loads/made.parquet").splitlines()
        for claim in re.findall(r'^\| <a id="([\w-]+)"', row)
    }
    assert "[loads](loads/made.parquet) |" in rows["wolsing2019-01"]
    assert "[loads]" not in rows["wolsing2019-38"], "none of its cells was run"
    assert "loads/" not in markdown(found), "a folder of one's own has its capsules"
    assert "reproduce wolsing2019 --from docs/results/loads" in markdown(found, "loads/a.parquet")


def test_notes_on_a_page_outlive_its_answers(tmp_path):
    sys.path.append(str(Path(__file__).parents[3] / "packages" / "papers" / "bench"))
    from papers import notes

    page = tmp_path / "page.md"
    assert notes(page) == []
    page.write_text(
        "# Title\n\n**Moved.** By 6 %.\n\n**Chosen.** Ours.\n\nSomebody.\n\n**Late.** No.\n"
    )
    assert notes(page) == ["**Moved.** By 6 %.", "**Chosen.** Ours."]
    page.write_text("# Title\n\nSomebody.\n\n| a |\n")
    assert notes(page) == []
