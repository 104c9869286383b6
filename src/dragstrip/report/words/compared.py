"""Describes a difference of two capsules, and the result of a condition on it, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragstrip.report.words.numbers import bounded, interval

if TYPE_CHECKING:  # these modules load Polars
    from dragstrip.results.compare.capsules import CapsuleDifference
    from dragstrip.results.compare.gate import Gated

CANNOT_TELL = (
    "Too many blocks stayed invalid, so undecided conditions say nothing. See the reports: a "
    "broken server looks like this, too."
)


def metric_of(found: "CapsuleDifference") -> str:
    """Name a metric and its statistic, as in ``plt`` or ``plt p95``."""
    metric = found.metric.removesuffix("_ms")
    return metric if found.statistic == "median" else f"{metric} {found.statistic}"


def ratio_of(found: "CapsuleDifference") -> str:
    """Write a ratio with its interval, such as ``1.128 (0.920 to 1.384)``, or why there is no
    ratio."""
    from dragstrip.stats.spread import LEAST

    if found.ratio is None and found.n_a:
        return "no load ended" if found.censored_a == found.n_a else "no ratio to zero"
    if found.ratio is None:
        return "no block counts"
    if found.statistic != "median" and found.low is None:
        return f"{found.ratio:.3f} (no interval: needs {LEAST[found.statistic]} loads)"
    if found.ends:
        low, high = found.ends
        return f"{found.ratio:.5f} (pairs {low:.5f} to {high:.5f})"
    said = interval(found.ratio, found.low, found.high)
    return f"{said}; {bounded(found.bound)}" if found.bound else said


def loads_of(found: "CapsuleDifference") -> str:
    """Write the numbers of loads, such as ``6 pairs``, ``12 and 11``, and how many did not
    finish."""
    loads = f"{found.n_a} pairs" if found.pairing == "paired" else f"{found.n_a} and {found.n_b}"
    if not found.censored_a and not found.censored_b:
        return loads
    return f"{loads}; {found.censored_a} and {found.censored_b} did not finish"


def decided_by(gated: "Gated") -> str:
    """Write the p value, such as ``p 0.021``, or that pairs decided."""
    return "virtual time, by pairs" if gated.p is None else f"p {gated.p:.2g}"


def said_of(gated: "Gated", differences: "Sequence[CapsuleDifference]") -> str:
    """Write the result of a condition, such as ``failed: plt B / A 1.200 (1.190 to 1.210), 12 pairs
    (p 1e-05)``."""
    found = next(
        d
        for d in differences
        if (d.cell, d.stack, d.metric, d.statistic)
        == (gated.cell, gated.stack, gated.metric, gated.statistic)
    )
    return (
        f"{gated.verdict}: {metric_of(found)} B / A {ratio_of(found)}, {loads_of(found)} "
        f"({decided_by(gated)})"
    )
