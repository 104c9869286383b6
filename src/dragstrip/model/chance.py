"""What chance explains about a count."""

from bisect import bisect_left, bisect_right


def loss_interval(trials: int, loss: float, tail: float) -> tuple[int, int]:
    """The range of probable losses: each side outside has at most probability `tail`.

    Exact, from the binomial distribution (bdtr is its distribution function, bdtrc the rest).
    """
    if loss in (0.0, 1.0):
        return round(trials * loss), round(trials * loss)
    from scipy.special import bdtr, bdtrc  # imports slowly; only links with loss need it

    counts = range(trials + 1)
    low = bisect_right(counts, tail, key=lambda k: float(bdtr(k, trials, loss)))
    high = bisect_left(counts, -tail, key=lambda k: -float(bdtrc(k, trials, loss)))
    return low, high
