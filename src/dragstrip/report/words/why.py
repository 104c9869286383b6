"""Describes the attribution of a difference in words."""

import math

from dragstrip.model.bridge import KNOWN
from dragstrip.model.clock import Clock
from dragstrip.report.data.cells import cell_title
from dragstrip.report.words.numbers import counted, listed, percent
from dragstrip.results.compare.attribution import FactorEffect, Pooled, Span, Why, WhyCell
from dragstrip.results.observed import BY_NAME

UNEXPLAINED = "protocol and implementation, unexplained"


def change(answer: Why, found: Span) -> str:
    """Write a change, such as ``4.1 % faster (3.9 to 4.3 %)``; "lower" for metrics that are not
    times."""
    low, high = found.low, found.high
    down, up = ("faster", "slower") if BY_NAME[answer.metric].unit == "ms" else ("lower", "higher")
    size = f"{percent(abs(1 - found.ratio))} {down if found.ratio < 1 else up}"
    if low is None or high is None:
        return f"{size} (no interval)"
    if low <= 1 <= high:
        return f"{size} ({percent(1 - low)} {down} to {percent(high - 1)} {up})"
    ends = sorted((abs(1 - low), abs(1 - high)))
    return f"{size} ({ends[0] * 100:.1f} to {percent(ends[1])})"


def span(found: Span) -> str:
    """Write a ratio with its interval, such as ``0.959 (0.957 to 0.961)``."""
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f} (no interval)"
    return f"{found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})"


def place(answer: Why, found: WhyCell | Pooled) -> str:
    """Name the cell, such as ``demo over LTE``, or the number of cells and their network."""
    clock = Clock(kind=answer.clock)
    if isinstance(found, WhyCell):
        return cell_title(found.page, found.network, found.connection, clock)
    mode = "" if found.connection == "first" else f", {found.connection}"
    over = f"over {found.network}" if found.network else "over all networks"
    timed = f", {clock.short}" if clock.virtual else ""
    return f"{found.cells} cells {over}{mode}{timed}"


def basis(found: WhyCell | Pooled) -> str:
    """Write the number of blocks or cells behind the intervals."""
    if isinstance(found, Pooled):
        return f"intervals over {found.over}"
    said = counted(found.n, "block")
    if found.n_without_loss is not None:
        said += f", {found.n_without_loss} without loss"
    return said


def by_size(found: WhyCell | Pooled) -> list[FactorEffect]:
    """Return the factors' effects, largest first."""
    return sorted(found.parts, key=lambda part: -abs(math.log(part.ratio)))


def sentence(answer: Why, found: WhyCell | Pooled) -> str:
    """Write a sentence on which stack is faster, by how much, and which factors explain it."""
    what = _metric(answer)
    said = f"{answer.b} against {answer.a} on {place(answer, found)}, {what}: "
    said += f"{change(answer, found)}, {basis(found)}."
    shown = [part for part in by_size(found) if part.shown]
    rest = [part.words for part in by_size(found) if not part.shown]
    if shown:
        said += f" Of this, {listed([f'{part.words} {change(answer, part)}' for part in shown])}."
    if rest:
        said += f" No effect shown of {listed(rest)}."
    left = found.unexplained
    if (left.low, left.high) != (1.0, 1.0):
        said += f" Unexplained, so protocol and implementation: {change(answer, left)}."
    return said


def notes(answer: Why) -> list[str]:
    """Return sentences on how the attribution was made, and its limits."""
    said = []
    if answer.orders < answer.orders_possible:
        said.append(
            f"{answer.orders} of {answer.orders_possible} orders of changing the factors were "
            f"sampled, over {answer.stacks} stacks; intervals allow for the others."
        )
    elif answer.orders > 1:
        said.append(
            f"All {counted(answer.stacks, 'stack')} between {answer.a} and {answer.b} were raced, "
            f"so every one of {answer.orders} orders of changing the factors counts."
        )
    if answer.with_rest:
        said.append(
            f"Unexplained includes {listed(list(answer.with_rest))}, which changed with the rest."
        )
    if answer.servers:
        said.append(f"The servers also differ in: {'; '.join(answer.servers)}.")
    for cell in answer.cells:
        for one in cell.interactions:
            a, b = one.factors
            said.append(
                f"On {place(answer, cell)}, {KNOWN[a].words} and {KNOWN[b].words} together make it "
                f"{change(answer, one)} than both do one by one."
            )
        if cell.censored:
            said.append(
                f"On {place(answer, cell)}, {counted(cell.censored, 'load')} failed, timed out or "
                "lost objects and entered at the time limit."
            )
    return said


def _metric(answer: Why) -> str:
    return BY_NAME[answer.metric].meaning.partition(":")[0]
