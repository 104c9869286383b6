"""Makes a network from ``trace:FILE``: the rates come from the file, everything else from
options."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.effects import Direction
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network, parse_loss
from dragstrip.model.units import parse_duration_ms, parse_rate_mbps
from dragstrip.study.tracefiles.files import OPTIONS, read_played, split

PREFIX = "trace:"
_LINK = ("delay", "loss", "queue")


def trace_network(text: str, folder: Path = Path()) -> Network:
    """Make the network of ``trace:FILE?delay=20ms,loss=1%,queue=200ms,up=5mbit``. The options of
    `dragstrip.study.tracefiles.files` work, too.

    ``up`` may be a column, another file in the same folder, or a rate. Without ``up``, and without
    a column for it, both directions play the same trace. Raises `InputError`.
    """
    file, options = split(text.removeprefix(PREFIX))
    if unknown := [name for name in options if name not in (*OPTIONS, *_LINK)]:
        known = ", ".join((*OPTIONS, *_LINK))
        raise InputError(f"{text}: {unknown[0]} is no option; use {known}")
    path = folder / Path(file).expanduser()
    both = _direction({name: options.pop(name) for name in _LINK if name in options})
    wanted = options.get("up", "")
    rate, beside = _rate(wanted), path.parent / wanted
    if rate or beside.is_file():
        del options["up"]
    played = read_played(path, options)
    if rate:
        up, note = structs.replace(both, rate_mbps=rate), f"up {wanted} as asked for"
    elif beside.is_file():
        other = read_played(beside)
        up, note = structs.replace(both, trace=other.up or other.down), f"up from {wanted}"
    elif played.up:
        up, note = structs.replace(both, trace=played.up), ""
    else:
        up = structs.replace(both, trace=played.down)
        note = "both directions play it, because it has one rate only"
    said = "; ".join(filter(None, (*played.notes, note)))
    return Network(
        name=text.replace(file, path.name),
        source=f"recorded in {path.name}{f': {said}' if said else ''}",
        down=structs.replace(both, trace=played.down),
        up=up,
    )


def traced(network: Network, text: str) -> Network:
    """Return the network with the rates of a trace file instead of its own. Raises `InputError`."""
    played = trace_network(text)
    try:
        return structs.replace(
            network,
            name=played.name if network.name == "bare" else f"{network.name}, {played.name}",
            source=played.source,
            down=structs.replace(network.down, rate_mbps=None, trace=played.down.trace),
            up=structs.replace(network.up, rate_mbps=played.up.rate_mbps, trace=played.up.trace),
        )
    except ValueError as error:
        raise InputError(f"network {network.name!r} with the trace {text}: {error}") from None


def _direction(options: Mapping[str, str]) -> Direction:
    queue = options.get("queue", "unbounded")
    return Direction(
        delay_ms=parse_duration_ms(options.get("delay", "0ms")),
        loss=parse_loss(options.get("loss", "0%")),
        queue_ms=None if queue == "unbounded" else parse_duration_ms(queue),
    )


def _rate(text: str) -> float | None:
    try:
        return parse_rate_mbps(text) if text else None
    except InputError:
        return None
