"""Sentences on invalid visits by stack, and on whether they bias the comparison."""

from collections.abc import Sequence

from dragstrip.results.bias import EVERYWHERE, Bias


def rates(one: Bias) -> str:
    """Say how many visits of each stack are invalid: ``h2 3 of 8, h3 0 of 8``."""
    return ", ".join(f"{r.stack} {r.invalid} of {r.visits}" for r in one.rates)


def where(one: Bias) -> str:
    """Name the cell in words: ``demo over LTE`` or ``all cells``."""
    page, *rest = one.cell.split("|")
    return one.cell if one.cell == EVERYWHERE else f"{page} over {', '.join(rest)}"


def sentence(found: Sequence[Bias]) -> str:
    """Say whether some stacks have more invalid visits than others. Empty if no visit is
    invalid."""
    if not found:
        return ""
    shown = [one for one in found if one.shown]
    if not shown:
        first = found[0]
        others = len(found) - (first.cell == EVERYWHERE)
        cells = f"; of {others} cells each by itself, adjusted p at least {_least(found):.2g}"
        return (
            "No difference between the stacks' invalid rates could be shown "
            f"({where(first)}: {rates(first)}, p {first.p:.2g}"
            f"{cells if first.cell == EVERYWHERE else ''})."
        )
    said = "; ".join(f"{where(one)}: {rates(one)}, p {one.p:.2g}" for one in shown)
    return (
        f"Some stacks have more invalid visits than others ({said}). Their blocks are repeated, so "
        "this selects which visits count: ratios there come with bounds for the invalid visits."
    )


def _least(found: Sequence[Bias]) -> float:
    return min(one.p for one in found if one.cell != EVERYWHERE)
