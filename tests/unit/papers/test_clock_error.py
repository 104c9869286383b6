"""A virtual clock does not answer what it may be off by."""

import polars as pl
import pytest

from dragstrip.model.clock import NETWORK, PRICED, REAL
from dragstrip_papers.answers.clock_error import on_a_fast_network, too_near
from dragstrip_papers.answers.findings import findings
from dragstrip_papers.answers.ran import Ran
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import published
from dragstrip_papers.measured import Evidence
from made_loads import as_if_run

PAPER = published("wolsing2019")
CLAIMS = {claim.id: claim.predicate for claim in PAPER.claims}
FVC, PLT, LTE, TABLE, HANDSHAKE = (f"wolsing2019-{n}" for n in ("41", "43", "47", "60", "39"))


def loads(seconds: float) -> Evidence:
    """Loads over DSL and LTE, or DA2GC if they are long, that all take as long, give or take a
    millisecond; those of QUIC end a round trip sooner."""
    reached = pl.col("network").is_in(["DSL", "LTE"] if seconds < 9 else ["DA2GC"])
    made = as_if_run(space(PAPER.specs()).filter(reached, study="wolsing2019"))
    times = pl.selectors.ends_with("_ms") & ~pl.selectors.by_name("rtt_ms")
    block = pl.col("block").str.extract(r"(\d+)$").cast(pl.Float64)
    sooner = pl.when(pl.col("stack").str.starts_with("QUIC")).then("rtt_ms").otherwise(0)
    own = 1000 * seconds - sooner + (7 * block) % 3
    timed = made.with_columns(own.alias(name) for name in made.select(times).columns)
    return Evidence(timed.with_columns(standin=False))


@pytest.mark.parametrize(
    ("claim", "clock", "seconds", "network"),
    [
        (PLT, PRICED, 0.2, "DSL"),  # 24 ms of 200, and half a round trip is 12
        (FVC, PRICED, 0.2, "DSL"),
        (PLT, PRICED, 0.08, ""),
        (PLT, NETWORK, 0.08, "DSL"),  # 24 ms of 80
        (LTE, PRICED, 1.0, ""),  # 30 ms of 1000, and half a round trip is 37
        (LTE, PRICED, 1.5, "LTE"),
        (LTE, NETWORK, 1.0, "LTE"),
        (TABLE, PRICED, 0.2, "DSL"),
        (HANDSHAKE, PRICED, 0.2, ""),  # counts round trips of one connection
        ("wolsing2019-53", NETWORK, 9.0, ""),  # over DA2GC
    ],
)
def test_half_a_round_trip_must_be_more_than_the_clock_may_be_off(claim, clock, seconds, network):
    why = too_near(CLAIMS[claim], loads(seconds), clock)
    assert bool(why) == bool(network)
    assert network in why


def test_a_claim_that_such_loads_would_decide_stays_open():
    def answers(clock, client="browser"):
        ran = Ran(clock=clock, client=client)
        found = findings(PAPER, PAPER.specs(), ran, loads(0.2)).claims
        return {claim.id: claim for claim in found}

    real, virtual = answers(REAL), answers(PRICED)
    assert real[PLT].verdict == "reproduced"
    assert (virtual[PLT].verdict, virtual[PLT].size) == ("open", "open")
    assert "the clock may be off by 24 ms" in virtual[PLT].why
    predicted = answers(NETWORK, "loader")
    assert (predicted[PLT].verdict, predicted[PLT].size) == ("open", "open")
    assert virtual[LTE].verdict == real[LTE].verdict == "reproduced"


def test_networks_whose_round_trips_are_short_are_named():
    names = {claim: on_a_fast_network(CLAIMS[claim]) for claim in (PLT, LTE, TABLE, HANDSHAKE)}
    assert names == {PLT: "DSL", LTE: "LTE", TABLE: "DSL", HANDSHAKE: ""}
    assert on_a_fast_network(None) == ""
