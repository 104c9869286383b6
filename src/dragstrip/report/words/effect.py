"""The size of a difference, how sure it is, and differences of spread, in words."""

import math
from collections.abc import Sequence

from dragstrip.report.data.effect import LARGE, MEDIUM, Advantage
from dragstrip.report.data.lead_bars import LeadBar
from dragstrip.report.data.leaders import ALIKE
from dragstrip.report.words.numbers import counted, duration, percent

MEANINGS: tuple[tuple[str, str], ...] = (
    (
        "small, medium, large",
        f"the share of the slower load that is saved: below {percent(MEDIUM, 0)}, from "
        f"{percent(MEDIUM, 0)} and from {percent(LARGE, 0)} on. From about a fifth on people tell "
        "two durations apart (Seow, Designing and Engineering Time, 2008). Two words are the sizes "
        "at both ends of the interval",
    ),
    (
        "sure",
        "the 95 % interval excludes that the other is as fast; about one in twenty comparisons of "
        "equal stacks is called so by chance",
    ),
    (
        "very sure",
        "the 99.8 % interval excludes it too, which holds for 24 comparisons at once; it needs ten "
        "blocks",
    ),
    (
        "in every block",
        "too few blocks for an interval, but virtual time repeats each load exactly",
    ),
    ("alike", f"shown to differ by less than {percent(ALIKE, 0)}"),
    ("no difference shown", "the data fit either as the faster one; it is not the same as alike"),
    ("varies less", "the middle half of its load times is narrower, by a 95 % interval"),
)
"""What the words mean."""


def headline(effect: Advantage) -> str:
    """Describe a rival in one line, such as ``large, very sure: faster in 10 of 10 blocks``."""
    blocks = f"faster in {effect.faster} of {counted(effect.found.n, 'block')}"
    match effect.sureness:
        case "none":
            return "no load ended"
        case "alike":
            return f"alike, {_range(effect)}"
        case "not shown":
            return f"no difference shown, {_range(effect)}"
        case "too few":
            return f"too few blocks to say; {blocks}"
        case "every block":
            return f"{_size(effect)}, in every block ({counted(effect.found.n, 'block')})"
    return f"{_size(effect)}, {effect.sureness}: {blocks}"


def sooner(effect: Advantage) -> str:
    """Say how much sooner the leader's load ends, such as ``167 ms sooner (160 to 172 ms)``. The
    text is empty if that is not known with an interval."""
    found = effect.sooner
    if found is None or found.low is None or found.high is None or not effect.shown:
        return ""
    if not all(map(math.isfinite, (found.low, found.value, found.high))):
        return ""
    return f"{duration(found.value)} sooner ({duration(found.low)} to {duration(found.high)})"


def spread(effect: Advantage) -> str:
    """Say which of the two varies less; the text is empty if none is shown to."""
    found = effect.steadiness
    if found is None:
        return ""
    also = "also" if found.relative else "not shown"
    return (
        f"{found.steady} varies less than {found.restless}: the middle half of its load times is "
        f"{found.ratio:.2f} times as wide ({found.low:.2f} to {found.high:.2f}); relative to the "
        f"load time, {also}."
    )


def few(effect: Advantage) -> str:
    """Warn that five blocks have no level of 95 %; the text is empty if there are more."""
    if effect.sureness != "sure" or effect.found.n != 5 or effect.found.bound:
        return ""
    return "Five blocks have an interval of 93.75 % at most."


def length(bar: LeadBar) -> str:
    """Print the median load time. If that load did not end, only that it is longer than the limit
    is known."""
    return f"> {duration(bar.median_ms)}" if bar.unended else duration(bar.median_ms)


def told(bar: LeadBar, all_bars: Sequence[LeadBar]) -> str:
    """Return the text beside a bar."""
    if bar.effect is None:
        everywhere = all(one.effect.shown for one in all_bars if one.effect)
        return "fastest" if everywhere else "lowest median"
    earlier, said = sooner(bar.effect), headline(bar.effect)
    return f"{bar.effect.best} {earlier}: {said}" if earlier else said


def notes(drawn: Sequence[LeadBar]) -> list[str]:
    """Return sentences on differences of spread, and on few blocks."""
    found = [bar.effect for bar in drawn if bar.effect]
    said = [*map(spread, found), *map(few, found)]
    return list(dict.fromkeys(one for one in said if one))


def _size(effect: Advantage) -> str:
    if effect.found.ratio == 0:
        return "most loads of the other fail"
    sizes = effect.sizes
    if sizes is None:
        return "size unknown"
    least, most = sizes
    return least if least == most else f"{least} to {most}"


def _range(effect: Advantage) -> str:
    """``3.0 % slower to 5.0 % faster``"""
    if effect.ends is None:
        return "by any amount"
    return " to ".join(
        f"{percent(abs(share))} {'faster' if share >= 0 else 'slower'}" for share in effect.ends
    )
