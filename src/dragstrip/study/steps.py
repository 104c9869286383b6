"""Reads the steps of a network from a TOML table: `at` of `[network.NAME]`."""

from collections.abc import Mapping
from typing import Any

from dragstrip.model.effects import STAGES
from dragstrip.model.errors import InputError
from dragstrip.model.steps import CANNOT_CHANGE
from dragstrip.model.units import UnitError, parse_duration_ms


def read_steps(given: Any) -> list[dict[str, Any]]:
    """Return the steps with `t_ms` for `t`. Raises `InputError`, which names the place inside the
    table."""
    if not isinstance(given, list):
        raise InputError('at: needs a list like [{ t = "2 s", down = { rate_mbps = 1 } }]')
    return [_step(f"at[{place}]", step) for place, step in enumerate(given)]


def _step(place: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(
            f'{place}: needs a table like {{ t = "2 s", down = {{ rate_mbps = 1 }} }}, not '
            f"{given!r}"
        )
    step = dict(given)
    for side in STAGES:
        change = step.get(side)
        fixed = sorted(CANNOT_CHANGE & set(change)) if isinstance(change, Mapping) else ()
        if fixed:
            raise InputError(
                f"{place}.{side}.{fixed[0]}: cannot change while the link runs: give it in "
                f"{side}, for the whole load"
            )
    if "t" in step and "t_ms" in step:
        raise InputError(f"{place}: t and t_ms are the same: give one")
    if "t" not in step and "t_ms" not in step:
        raise InputError(f'{place}: t is missing: say when, like t = "2 s"')
    if "t" in step:
        step["t_ms"] = _time_ms(f"{place}.t", step.pop("t"))
    return step


def _time_ms(place: str, given: Any) -> float:
    if not isinstance(given, str):
        raise InputError(f'{place}: {given!r} is not a duration with its unit; write it like "2 s"')
    try:
        return parse_duration_ms(given)
    except UnitError as error:
        raise InputError(f"{place}: {error}") from None
