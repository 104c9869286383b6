"""How improbable losses in bursts are."""

import numpy as np
import pytest

from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.chance import burst_odds

TIMED = GilbertElliott(good_ms=90, bad_ms=10)
PACKETS = GilbertElliott(p=0.02, r=0.2, loss_good=0.01, loss_bad=0.7)


def by_time(chain: GilbertElliott, watched_ms: float, draw: np.random.Generator) -> float:
    """The ms in the bad state in one run."""
    bad, at_ms, held_ms = draw.random() < chain.bad_share, 0.0, 0.0
    while at_ms < watched_ms:
        lasts = min(draw.exponential(chain.bad_ms if bad else chain.good_ms), watched_ms - at_ms)
        held_ms += lasts * bad
        at_ms, bad = at_ms + lasts, not bad
    return held_ms


def by_packet(chain: GilbertElliott, packets: int, draw: np.random.Generator) -> int:
    """The packets lost in one run."""
    bad, lost = draw.random() < chain.bad_share, 0
    for turn, luck in draw.random((packets, 2)):
        lost += luck < (chain.loss_bad if bad else chain.loss_good)
        bad = turn >= chain.r if bad else turn < chain.p
    return lost


@pytest.mark.parametrize(
    ("chain", "trials", "run"), [(TIMED, 500.0, by_time), (PACKETS, 500, by_packet)]
)
def test_an_honest_chain_is_hardly_ever_called_improbable(chain, trials, run):
    draw = np.random.default_rng(5)
    runs = [run(chain, trials, draw) for _ in range(2000)]
    for tail in (0.2, 0.05, 0.01):
        unlikely = sum(burst_odds(hits, trials, chain) < tail for hits in runs)
        assert unlikely <= 2 * tail * len(runs)


@pytest.mark.parametrize(("chain", "trials"), [(TIMED, 5000.0), (PACKETS, 5000)])
def test_a_chain_that_loses_nothing_or_twice_as_much_is_found(chain, trials):
    expected = trials * (chain.bad_share if chain.by_time else chain.loss)
    assert burst_odds(expected, trials, chain) > 0.9
    assert burst_odds(0, trials, chain) < 1e-6
    assert burst_odds(2.5 * expected, trials, chain) < 1e-6


def test_losses_without_memory_are_a_binomial_sum():
    """Chernoff's bound here is exp(-n KL(x/n, p)) (Hoeffding 1963, theorem 1)."""
    chain = GilbertElliott(p=0.3, r=0.7)
    share, n = 0.5, 200
    distance = share * np.log(share / 0.3) + (1 - share) * np.log((1 - share) / 0.7)
    assert burst_odds(share * n, n, chain) == pytest.approx(np.exp(-n * distance), rel=1e-3)


@pytest.mark.parametrize("chain", [TIMED, PACKETS, GilbertElliott(p=0, r=0.5)])
def test_no_trials_say_nothing(chain):
    assert burst_odds(0, 0, chain) == pytest.approx(1)
