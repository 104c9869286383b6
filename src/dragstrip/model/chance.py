"""Computes bounds on a count of random events."""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from dragstrip.model.bursts import GilbertElliott

Floats = NDArray[np.float64]
_STEEPNESS: Floats = np.geomspace(1e-4, 60, 600)
"""Values of s in Chernoff's bound; larger ones matter only for probabilities below e^-60."""


def loss_interval(trials: int, loss: float, tail: float) -> tuple[int, int]:
    """Return the range of probable numbers of losses. More losses have at most probability `tail`,
    and so do fewer.

    The range is exact, from the binomial distribution (bdtr is its distribution function, bdtrc the
    complement).
    """
    if loss in (0.0, 1.0):
        return round(trials * loss), round(trials * loss)
    from scipy.special import bdtr, bdtrc  # imports slowly; only links with loss need it

    counts = range(trials + 1)
    low = bisect_right(counts, tail, key=lambda k: float(bdtr(k, trials, loss)))
    high = bisect_left(counts, -tail, key=lambda k: -float(bdtrc(k, trials, loss)))
    return low, high


def burst_odds(hits: float, trials: float, chain: GilbertElliott) -> float:
    """Return an upper bound on the probability of `hits` or a more extreme number of losses among
    `trials` packets, if loss comes in bursts. If the chain follows time, `hits` and `trials` are
    the ms in the bad state and the ms in total.

    The bound is Chernoff's, the least of E[e^(s X)] e^(-s x) over s of one sign. The expectation is
    exact: start * A^n * (1, 1), where A is the chain's matrix with each state's row weighted; for a
    chain in time, start * e^(A t) * (1, 1). Sylvester's formula gives both from the eigenvalues of
    A.
    """
    many = hits > trials * (chain.bad_share if chain.by_time else chain.loss)
    s = _STEEPNESS if many else -_STEEPNESS
    p, r = chain.rates
    with np.errstate(all="ignore"):  # for a double eigenvalue, which is left out
        if chain.by_time:
            s = s * (p + r)
            mean = chain.bad_share * s
            high, low = _eigenvalues(s - p - r, -p * s)
            logs, ratio = high * trials, np.exp((low - high) * trials)
        else:
            good, bad = (1 + loss * np.expm1(s) for loss in (chain.loss_good, chain.loss_bad))
            mean = (1 - chain.bad_share) * good + chain.bad_share * bad
            high, low = _eigenvalues((1 - p) * good + (1 - r) * bad, good * bad * (1 - p - r))
            logs, ratio = np.log(high) * trials, (low / high) ** round(trials)
        logs += np.log((mean - low - ratio * (mean - high)) / (high - low)) - s * hits
    return float(np.exp(min(0.0, np.nanmin(logs))))


def _eigenvalues(trace: Floats, determinant: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of 2 x 2 matrices, the larger first."""
    root = np.sqrt(trace**2 - 4 * determinant)
    return (trace + root) / 2, (trace - root) / 2
