"""Reads a network from a TOML table, which may have keys besides the fields of
`dragstrip.model.network`.

[slow]
two_way_loss = 0.033                # instead of loss: (1 - l)^2 = 1 - p per direction
down = { trace = "norway.txt", queue_packets = 100 }   # a trace's file, beside this one;
                                    # or a log: "5g.csv?unit=kbit/s"; delay_trace = "delay.txt"
up = { rate_mbps = 1, delay_ms = 30, jitter_ms = 5, jitter_table = "pareto.dist" }  # of netem
at = [{ t = "2 s", down = { rate_mbps = 1 } }]      # what the link becomes: moving-links.md

[shared]
down = { trace = "lte.txt" }
up = { rate_of_down = 0.2 }         # instead of a rate: the way up has 20 % of the rates down
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.model.effects import STAGES
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network, per_direction
from dragstrip.study.coupled import follow
from dragstrip.study.steps import read_steps
from dragstrip.study.tracefiles.delays import read_delays
from dragstrip.study.tracefiles.distribution import read_distribution
from dragstrip.study.tracefiles.files import read_side


def read_network(name: str, table: Mapping[str, Any], folder: Path) -> Network:
    """Read the network from a table. Raises `InputError`, which names the place inside the
    table."""
    fields = {"name": name, **table}
    sides: dict[str, dict[str, Any]] = {}
    for way in ("down", "up"):
        given = fields.get(way, {})
        if not isinstance(given, Mapping):
            raise InputError(f"{way}: needs a table like {{ rate_mbps = 1 }}, not {given!r}")
        sides[way] = dict(given)
    if "two_way_loss" in fields:
        share = fields.pop("two_way_loss")
        if any("loss" in side or "gilbert_elliott" in side for side in sides.values()):
            raise InputError("two_way_loss: it sets the loss of both directions; omit their loss")
        try:
            loss = per_direction(share)
        except (TypeError, ValueError):
            raise InputError(f"two_way_loss: {share!r} is not a share between 0 and 1") from None
        for side in sides.values():
            side["loss"] = loss
    for place in STAGES:
        side = sides[place]
        if isinstance(side.get("trace"), str):
            try:
                side["trace"] = read_side(side["trace"], folder, place)
            except InputError as error:
                raise InputError(f"{place}.trace: {error}") from None
        if isinstance(side.get("delay_trace"), str):
            try:
                side["delay_trace"] = read_delays(side["delay_trace"], folder, place).trace
            except InputError as error:
                raise InputError(f"{place}.delay_trace: {error}") from None
        if isinstance(side.get("jitter_table"), str):
            try:
                quantiles = read_distribution(folder / side["jitter_table"])
            except InputError as error:
                raise InputError(f"{place}.jitter_table: {error}") from None
            side |= {"jitter_shape": "table", "jitter_table": quantiles}
    if "at" in fields:
        fields["at"] = read_steps(fields["at"])
    if "rate_of_down" in sides["up"]:
        follow(sides["up"], sides["down"], fields.get("at", []))
    given = {side: fields_ for side, fields_ in sides.items() if side in fields or fields_}
    try:
        return msgspec.convert(fields | given, Network)
    except msgspec.ValidationError as error:
        raise InputError(placed(str(error))) from None


def placed(message: str) -> str:
    """Rewrite an error message of msgspec (``... - at `$.runs```) so that it begins with the place
    and ends with a cure."""
    match = re.fullmatch(r"(.*) - at `\$\.?(.*)`", message)
    said = match[1] if match else message
    for pattern, words in _WORDS.items():
        said = re.sub(pattern, words, said)
    return f"{match[2]}: {said}" if match else said


_WORDS = {
    r"Object contains unknown field `(.*)`": r"unknown key `\1`; docs/reference/study.md has all",
    r"Object missing required field `(.*)`": r"`\1` is missing; give it",
    r"Expected `(.*)`, got `(.*)`": r"needs `\1`, not `\2`",
    r"Expected `(.*)` (of length )?>= (.*)": r"needs `\1` \2>= \3",
}
