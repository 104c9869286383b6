"""Changes a link while a program runs behind it: docs/howto/link.md, section Change it.

Each line is a JSON object such as ``{"rate": "1mbit", "delay": {"up": "40ms"}, "outage": true}``. A
value holds for both directions, or names those that it changes. The answer is the link's new state.
A line that cannot be understood gets an error as its answer, and changes nothing.
"""

from typing import Any

import msgspec

from dragstrip.cli.machine.link_options import Sides, both, changed, find_carried
from dragstrip.cli.machine.link_summary import DirectionValues
from dragstrip.model.effects import STAGES, Side
from dragstrip.model.errors import DragstripError, InputError
from dragstrip.model.network import Network
from dragstrip.study.presets import suggest
from dragstrip.testbed.net.link import Link, PortRange

_VALUES = {"rate": "5mbit", "delay": "40ms", "loss": "1%", "queue": "200ms"}
"""The values that can be changed, with an example of each."""
_KEYS = ("network", *_VALUES, "outage")


class Steering:
    """Changes a link: knows its current network, and which directions have an outage."""

    def __init__(self, link: Link, network: Network, seed: int, ports: list[PortRange]) -> None:
        self._link = link
        self._seed = seed
        self._ports = ports
        self.network = network
        self.outages: frozenset[Side] = frozenset()
        self.changes = 0

    def answer(self, line: bytes) -> bytes:
        """Return the answer to a line: the link's new state, or an error."""
        try:
            self._apply(_object(line))
        except DragstripError as error:
            return msgspec.json.encode({"ok": False, "error": str(error)})
        said: dict[str, Any] = {"ok": True, "changes": self.changes}
        for side in STAGES:
            asked = DirectionValues.of(self.network.direction(side))
            said[side] = msgspec.to_builtins(asked) | {"outage": side in self.outages}
        return msgspec.json.encode(said)

    def _apply(self, fields: dict[str, Any]) -> None:
        if unknown := [key for key in fields if key not in _KEYS]:
            raise InputError(
                f"{unknown[0]!r} is unknown{suggest(unknown[0], _KEYS)}; give "
                f"{', '.join(_KEYS[:-1])} or {_KEYS[-1]}"
            )
        network = self.network
        if "network" in fields:
            if not isinstance(fields["network"], str):
                raise InputError('network needs a name, like "LTE"')
            network = find_carried(fields["network"])
        network = changed(
            network, **{key: _sides(key, fields[key]) for key in _VALUES if key in fields}
        )
        outages = self._outages(fields.get("outage", {}))
        if (network, outages) != (self.network, self.outages):
            self._link.change(network, self._seed, self._ports, outages)
            self.network, self.outages = network, outages
            self.changes += 1

    def _outages(self, value: Any) -> frozenset[Side]:
        given = value if isinstance(value, dict) else dict.fromkeys(STAGES, value)
        wrong = [side for side in given if side not in STAGES]
        if wrong or not all(isinstance(each, bool) for each in given.values()):
            raise InputError(
                'outage needs true or false, or a direction\'s: {"outage": {"down": true}}'
            )
        out = {side: side in self.outages for side in STAGES} | given
        return frozenset(side for side in STAGES if out[side])


def _object(line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(
            'the line is no JSON object; send one like {"rate": "1mbit", "delay": "40ms"}'
        ) from None


def _sides(key: str, value: Any) -> Sides:
    if isinstance(value, str):
        return both(value)
    if (
        isinstance(value, dict)
        and value
        and all(side in STAGES and isinstance(each, str) for side, each in value.items())
    ):
        return value
    raise InputError(
        f'{key} needs text like "{_VALUES[key]}", or a direction\'s: '
        f'{{"{key}": {{"down": "{_VALUES[key]}"}}}}'
    )
