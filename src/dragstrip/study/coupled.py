"""Lets the way up have a share of the rates down: `rate_of_down` of `up` in a network's table."""

from collections.abc import Mapping
from typing import Any

from msgspec import ValidationError, convert

from dragstrip.model.errors import InputError
from dragstrip.model.trace import Trace

_PLACE = "up.rate_of_down"
_RATES = ("rate_mbps", "trace")


def follow(up: dict[str, Any], down: Mapping[str, Any], steps: list[dict[str, Any]]) -> None:
    """Replace `rate_of_down` by a rate or trace of its own, and give each step that changes the
    rate down the same share up. Raises `InputError`, which names the place."""
    share = up.pop("rate_of_down")
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise InputError(f"{_PLACE}: {share!r} is not a share above 0, at most 1, like 0.2")
    if own := [name for name in _RATES if up.get(name) is not None]:
        raise InputError(f"{_PLACE}: up has {own[0]} too: give one")
    if down.get("trace") is not None:
        up["trace"] = _trace(down["trace"]).scaled(share)
        if offset_ms := down.get("trace_offset_ms"):
            up.setdefault("trace_offset_ms", offset_ms)
    elif isinstance(down.get("rate_mbps"), int | float):
        up["rate_mbps"] = down["rate_mbps"] * share
    else:
        raise InputError(f"{_PLACE}: down has no rate to follow: give down.rate_mbps or a trace")
    for place, step in enumerate(steps):
        _step(f"at[{place}]", step, share)


def _step(place: str, step: dict[str, Any], share: float) -> None:
    change = step.get("down")
    rate = change.get("rate_mbps") if isinstance(change, Mapping) else None
    if not isinstance(rate, int | float):
        return
    own = step.get("up") or {}
    if isinstance(own, Mapping):
        if "rate_mbps" in own:
            raise InputError(
                f"{place}.up.rate_mbps: up follows down ({_PLACE}): leave one of them out"
            )
        step["up"] = {**own, "rate_mbps": rate * share}


def _trace(given: Any) -> Trace:
    try:
        return given if isinstance(given, Trace) else convert(given, Trace)
    except ValidationError as error:
        raise InputError(f"down.trace: {error}") from None
