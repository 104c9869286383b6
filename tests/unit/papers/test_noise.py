"""Counts of significant tests need noise like the paper's; virtual time without loss has none."""

import polars as pl
import pytest

from dragstrip.model.clock import NETWORK, PRICED, REAL
from dragstrip_papers.answers.findings import findings
from dragstrip_papers.answers.noise import NO_NOISE
from dragstrip_papers.answers.ran import Ran
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import published
from dragstrip_papers.measured import Evidence
from dragstrip_papers.overall.needs import ways
from made_loads import as_if_run

PAPER = published("wolsing2019")
CELLS = space(PAPER.specs())


@pytest.fixture(scope="module")
def loads() -> Evidence:
    """Thirty-five loads of each cell over LTE and DA2GC; TCP+BBR is half as fast as TCP+."""
    asked = CELLS.filter(pl.col("network").is_in(["LTE", "DA2GC"]), study="wolsing2019")
    five = as_if_run(asked)
    times = pl.selectors.ends_with("_ms") & ~pl.selectors.by_name("rtt_ms")
    slow = pl.when(stack="TCP+BBR").then(times * 2).otherwise(times)
    number = pl.col("block").str.extract(r"(\d+)$").cast(int)
    return Evidence(
        pl.concat(
            five.with_columns(
                slow.name.keep(),
                block=pl.col("block").str.replace(r"\d+$", "") + (number + 5 * i).cast(pl.String),
            )
            for i in range(7)
        )
    )


@pytest.mark.parametrize(
    ("clock", "lossless", "lossy"),
    [
        (REAL, "contradicted", "contradicted"),
        (NETWORK, "open", "contradicted"),
        (PRICED, "open", "contradicted"),
    ],
)
def test_only_loads_with_noise_answer_how_many_tests_find_a_difference(
    clock, lossless, lossy, loads
):
    found = {c.id: c for c in findings(PAPER, PAPER.specs(), Ran(clock=clock), loads).claims}
    over_lte, over_da2gc = found["wolsing2019-31"], found["wolsing2019-35"]
    assert (over_lte.verdict, over_da2gc.verdict) == (lossless, lossy)
    assert (over_lte.why == NO_NOISE) == clock.virtual
    assert "slower" in over_lte.ours


def test_the_plan_has_such_counts_in_real_time():
    claims = {claim.id: claim for claim in PAPER.claims}
    where = {
        number: ways(
            claims[f"wolsing2019-{number}"],
            PAPER,
            reach(claims[f"wolsing2019-{number}"].predicate, CELLS),
        )
        for number in (29, 31, 35)
    }
    assert "virtual" not in where[29]
    assert where[31] == ("browser",)
    assert "virtual" in where[35]
