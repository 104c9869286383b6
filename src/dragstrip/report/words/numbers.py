"""Writes numbers in words, for terminal and report."""

import math
import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:  # Polars loads slowly, and every command loads this file
    from dragstrip.report.data.leaders import Lead
    from dragstrip.results.bounds import Bound
    from dragstrip.results.compare.summary import Comparison

DASH = "\N{EN DASH}"


def duration(ms: float | None) -> str:
    """Write a duration: ``1.234 s`` from one second, otherwise ``234 ms``; a dash for None."""
    if ms is None:
        return DASH
    return f"{ms / 1000:.3f} s" if ms >= 1000 else f"{ms:.0f} ms"


def ms(value: float | None) -> str:
    """Write a duration in ms without its unit, such as ``12.3``, for columns whose heading names
    the unit."""
    return DASH if value is None else f"{value:.1f}"


def percent(share: float, digits: int = 1) -> str:
    return f"{share * 100:.{digits}f} %"


def size(count: int) -> str:
    """Write a size in decimal units, such as ``1.69 MB``, ``28 kB``."""
    if count >= 1_000_000:
        return f"{count / 1e6:.2f} MB"
    return f"{count / 1000:.0f} kB" if count >= 1000 else f"{count} B"


def ratio(comparison: "Comparison | None") -> str:
    """Write a ratio with its interval, such as ``0.889 (0.881 to 0.897)``, and with wider intervals
    if there are any."""
    if comparison is None or comparison.none_ended:
        return DASH
    said = interval(comparison.ratio, comparison.low, comparison.high)
    if comparison.between:
        widest = comparison.between[0]
        said += f"; over {counted(widest.units, widest.level)} "
        said += f"{_factor(widest.low)} to {_factor(widest.high)}"
    return said if comparison.bound is None else f"{said}; {bounded(comparison.bound)}"


def bounded(bound: "Bound") -> str:
    """Write a wider interval, such as ``0.850 to ∞ with the 4 of 11 invalid attempts``."""
    ends = f"{_factor(bound.low)} to {_factor(bound.high)}"
    return f"{ends} with the {bound.missing} of {bound.attempts} invalid attempts"


def interval(value: float, low: float | None, high: float | None) -> str:
    """Write a value with its interval, such as ``0.889 (0.881 to 0.897)``; ``∞`` if most loads
    failed."""
    if low is None or high is None:
        return f"{_factor(value)} (no interval)"
    return f"{_factor(value)} ({_factor(low)} to {_factor(high)})"


def _factor(value: float) -> str:
    return "∞" if value == math.inf else f"{value:.3f}"


def listed(words: list[str]) -> str:
    """Write a list: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counted(n: int, noun: str) -> str:
    """Write a count with its noun, such as ``1 block``, ``2 blocks``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def led(lead: "Lead") -> str:
    """Write the leaders and their lead, such as ``h3 by 12.0 %``, ``h3 and h2 by 4.1 %``, ``no
    difference shown``."""
    said = {
        "alike": "alike, within 5 %",
        "open": "no difference shown",
        "too few": f"too few blocks ({lead.blocks})",
        "none": "no answer",
    }.get(lead.kind)
    return said or f"{listed(list(lead.leaders))} by {percent(lead.share)}"


def amount(value: float | None, unit: str) -> str:
    """Write a metric's value with its unit, in short form."""
    if value is None:
        return DASH
    match unit:
        case "ms":
            return duration(value)
        case "byte":
            return size(round(value))
        case "share":
            return percent(value)
        case "Mbit/s":
            return f"{value:.3g} Mbit/s"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def coded(text: str) -> Markup:
    """Return the text as HTML, with parts between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
