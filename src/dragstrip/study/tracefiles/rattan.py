"""Reads the delays of rattan: JSON of the crate netem-trace, with times as people write them
(``"10ms"``) or as seconds and nanoseconds."""

import json
import re
from typing import Any

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNITS_S |= {"sec": 1.0, "secs": 1.0, "msec": 1e-3, "usec": 1e-6, "nsec": 1e-9, "min": 60.0}
_MOST_STEPS = 1_000_000
_DEPTH = 20
_STATIC, _PATTERN = "StaticDelayConfig", "RepeatedDelayPatternConfig"


def read_rattan(text: str) -> tuple[tuple[float, float], ...]:
    """Return pairs (second, ms) that end with the end; empty if the text is another JSON. Raises
    `ValueError`, which names the place in the value."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not (isinstance(value, dict) and len(value) == 1 and next(iter(value)).endswith("Config")):
        return ()
    at, steps = 0.0, []
    for delay_s, lasts_s in _played(value, "", _DEPTH):
        steps.append((at, delay_s * 1000))
        at += lasts_s
    return (*steps, (at, 0.0)) if steps else ()


def _played(value: Any, place: str, depth: int) -> list[tuple[float, float]]:
    if not (isinstance(value, dict) and len(value) == 1 and depth):
        raise ValueError(f"{place or 'it'} is no model of a delay, like {{{_STATIC!r}: ...}}")
    ((kind, fields),) = value.items()
    inside = f"{place}.{kind}".removeprefix(".")
    if not isinstance(fields, dict) or kind not in (_STATIC, _PATTERN):
        raise ValueError(f"{inside}: only {_STATIC} and {_PATTERN} are played")
    if kind == _STATIC:
        delay_s = _seconds(fields.get("delay"), f"{inside}.delay")
        lasts_s = _seconds(fields.get("duration"), f"{inside}.duration")
        if not lasts_s:
            raise ValueError(f"{inside}.duration is 0: give how long the delay holds")
        return [(delay_s, lasts_s)]
    pattern, count = fields.get("pattern"), fields.get("count", 1)
    if not isinstance(pattern, list) or not isinstance(count, int) or count < 0:
        raise ValueError(f"{inside} needs a list `pattern` and a whole number `count`")
    once = [
        step
        for index, model in enumerate(pattern)
        for step in _played(model, f"{inside}.pattern[{index}]", depth - 1)
    ]
    # A count of 0 repeats it forever, as every trace here does.
    if len(once) * max(count, 1) > _MOST_STEPS:
        raise ValueError(f"{inside} has more than {_MOST_STEPS} steps")
    return once * max(count, 1)


def _seconds(value: Any, place: str) -> float:
    if isinstance(value, dict) and value.keys() <= {"secs", "nanos"}:
        numbers = [value.get("secs", 0), value.get("nanos", 0)]
        if all(isinstance(n, int) and n >= 0 for n in numbers):
            return float(numbers[0] + numbers[1] / 1e9)
    if isinstance(value, str):
        parts = re.findall(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)", value)
        whole = re.fullmatch(r"(\s*\d+(\.\d+)?\s*[a-z]+)+\s*", value)
        if whole and all(unit in _UNITS_S for _, unit in parts):
            return float(sum(float(number) * _UNITS_S[unit] for number, unit in parts))
    raise ValueError(f'{place} is no time like "10ms" or {{"secs": 0, "nanos": 10000000}}')
