"""Cuts a study down to the available time. Its blocks stay the same, so more can be run later."""

from fractions import Fraction
from math import ceil

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.study import CellKey, Study
from dragstrip.schedule.estimate import StudyPace

SMOKE_S = 600.0
_MOST = 100


def scaled(study: Study, scale: str) -> Study:
    """Return the study at a scale. Raises `InputError`.

    The scale ``paper`` is the whole study. ``smoke`` is one block of each of the cheapest cells
    that fit into ten minutes. A number from 0 to 1, or a fraction such as ``1/20``, is a share of
    the runs; a fraction may exceed 1.
    """
    share = share_of(scale)
    if share is None:
        return structs.replace(study, runs=1, only=_cheapest(study, SMOKE_S))
    return structs.replace(study, runs=ceil(study.runs * share))


def share_of(scale: str) -> Fraction | None:
    """Return the share of the runs; None for ``smoke``. Raises `InputError`."""
    if scale == "smoke":
        return None
    try:
        share = Fraction(1 if scale == "paper" else scale)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    most = _MOST if "/" in scale else 1
    if not 0 < share <= most:
        raise InputError(
            f"--scale {scale!r}: give smoke, paper or a share of the runs such as 0.2 or 7/31; "
            f"more than the study's runs as a fraction such as 20/5, at most {_MOST} times as many"
        )
    return share


def _cheapest(study: Study, budget_s: float) -> tuple[CellKey, ...]:
    """Return the cheapest cells whose visits fit into `budget_s`; at least one cell."""
    pace = StudyPace(study)
    prices = sorted((pace.visit_s(cell) * study.visits_per_block, cell) for cell in study.cells())
    chosen: list[CellKey] = []
    for price, cell in prices:
        budget_s -= price
        if budget_s < 0 and chosen:
            break
        chosen.append(cell)
    return tuple(chosen)
