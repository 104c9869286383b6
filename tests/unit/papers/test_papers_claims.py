"""The five papers' claims and studies belong together, and leave no claim of the list out."""

import csv
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.model.errors import InputError
from dragstrip.pages import corpus
from dragstrip.schedule.estimate import visit_s
from dragstrip.study.presets import networks
from dragstrip.study.spec import StudySpec
from dragstrip_papers.campaign.plan import campaign
from dragstrip_papers.campaign.weight import weight
from dragstrip_papers.claims import KEYS, KNOWN, answers, published
from dragstrip_papers.evidence import METRICS, SCHEMA, nothing
from dragstrip_papers.measured import Evidence

LIST = Path(__file__).parents[2] / "data" / "claims.csv"
BLOCKS = 5


def as_if_run(spec: StudySpec) -> pl.DataFrame:
    """Loads of every cell of a study, all about as long."""
    draw = np.random.default_rng(1)
    known = corpus.known()
    rows = []
    for page in spec.pages:
        size, hosts = weight(page)
        made = known.get(page)
        objects = made.objects if made else 1
        name = page.replace("/", "-").replace(":", "-")
        for network in spec.networks:
            factors = {
                "study": spec.name,
                "rate_mbps": network.down.rate_mbps,
                "rtt_ms": network.rtt_ms,
                "loss": network.down.mean_loss,
                "objects": objects,
                "page_bytes": size,
                "object_bytes": size / objects,
                "hosts": hosts,
                "standin": made is not None and made.kind == "stand-in",
            }
            rows += [
                factors
                | {"block": str(i), "page": name, "network": network.name, "stack": stack.name}
                | {"connection": connection, "censored": False}
                | dict.fromkeys(METRICS, 1000 * (1 + 0.05 * draw.standard_normal()))
                for connection in spec.connections
                for stack in spec.stacks
                for i in range(BLOCKS)
            ]
    return pl.DataFrame(rows, schema=SCHEMA)


def test_every_claim_of_the_list_stands_here_once():
    with LIST.open() as rows:
        wanted = {row["id"]: row["tier"] for row in csv.DictReader(rows)}
    here = [claim for key in KEYS for claim in published(key).claims]
    assert len(here) == 141
    assert {claim.id: claim.tier for claim in here} == wanted


@pytest.mark.parametrize("key", KNOWN)
def test_a_claim_that_matters_has_a_predicate_and_the_others_a_reason(key):
    for claim in published(key).claims:
        assert (claim.predicate is None) == bool(claim.untestable)
        if claim.tier in ("must", "should"):
            assert claim.predicate is not None


@pytest.mark.parametrize("key", KNOWN)
def test_without_loads_every_claim_says_why_it_is_open(key):
    for answer in answers(key, Evidence(nothing())).values():
        assert answer.verdict in ("open", "not testable", "derived")
        assert answer.why


@pytest.mark.parametrize("key", KNOWN)
def test_the_studies_hold_every_cell_that_the_claims_ask_for(key):
    paper = published(key)
    loads = pl.concat([as_if_run(spec) for spec in paper.specs()])
    audit = pl.DataFrame({"impossible": [True] * 45 + [False] * 19})
    for name, answer in answers(key, Evidence(loads, audit)).items():
        assert not re.search(r"no cell of it|\d of its \d|is not run|fewer than", answer.why), (
            name,
            answer,
        )


@pytest.mark.parametrize("key", KEYS)
def test_every_surrogate_is_named(key):
    paper = published(key)
    stacks = {stack.name for spec in paper.specs() for stack in spec.stacks}
    assert stacks == set(paper.paper.stands_for)
    judged = [claim.predicate for claim in paper.claims if claim.predicate]
    assert any(paper.surrogates(predicate) for predicate in judged)


@pytest.mark.parametrize(
    ("key", "cells", "visits"),
    [
        ("biswal2016", 360, 360 * 2 * 5),
        ("megyesi2016", 48, 48 * 3 * 100),
        ("wolsing2019", 152, 23_560),
        ("ranjan2019", 32, 3_200),
    ],
)
def test_the_main_study_is_as_large_as_the_paper_says(key, cells, visits):
    paper = published(key)
    part = campaign(paper, paper.specs(), "paper", 0)[0]
    assert len(part.cells) == part.total == cells
    assert part.total * len(part.spec.stacks) * part.runs == visits
    assert part.seconds > 0


def test_an_estimate_grows_with_bytes_delay_and_loss():
    lte = networks()["LTE"]
    assert visit_s(*weight("synth:1x1MB"), lte) > visit_s(*weight("synth:1x100KB"), lte)
    assert visit_s(*weight("synth:1x10KB"), networks()["MSS"]) > visit_s(
        *weight("synth:1x10KB"), lte
    )
    # 1 MB at 0.468 Mbit/s takes 17 s, whatever else happens.
    megabyte = *weight("synth:1x1MB"), networks()["DA2GC"]
    assert visit_s(*megabyte) > 17
    # A repeat visit loads the page twice, but only once at that rate.
    assert 0 < visit_s(*megabyte, "repeat") - visit_s(*megabyte) < 17


def test_the_audit_of_the_published_captures_confirms_the_claim():
    claims = {claim.id: claim for claim in published("ranjan2019").claims}
    told = Evidence(nothing(), pl.DataFrame({"impossible": [True] * 45 + [False] * 19}))
    found = claims["ranjan2019-12"].answer(told)
    assert (found.verdict, found.ours) == ("derived", "45 of 64 captures")


def test_an_unknown_paper_is_refused():
    with pytest.raises(InputError, match="known are biswal2016"):
        published("nobody2020")


def test_a_dry_run_says_what_it_would_take():
    runner = CliRunner()
    done = runner.invoke(app, ["reproduce", "biswal2016", "--dry-run", "--scale", "paper"])
    assert done.exit_code == 0
    assert "7200" in done.stdout  # the half of them controls
    assert "28 claims" in done.stdout
    assert "wolsing2019" in runner.invoke(app, ["list", "papers"]).stdout
