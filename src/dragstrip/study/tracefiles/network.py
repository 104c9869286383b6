"""Makes a network from ``trace:FILE``: the rates come from the file, delays from another or from
the same, everything else from options."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.effects import Direction, Side
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network, parse_loss
from dragstrip.model.units import UnitError, parse_duration_ms, parse_rate_mbps, parse_share
from dragstrip.study.tracefiles.delays import read_delays
from dragstrip.study.tracefiles.files import OPTIONS, read_played, split

PREFIX = "trace:"
_LINK = ("delay", "loss", "queue")


def trace_network(text: str, folder: Path = Path()) -> Network:
    """Make the network of ``trace:FILE?delay=20ms,loss=1%,queue=200ms,up=5mbit``. The options of
    `dragstrip.study.tracefiles.files` work, too.

    ``up`` may be a column, another file in the same folder, a rate, or a share of the rates down.
    Without ``up``, and without a column for it, both directions play the same trace. ``delay`` may
    be a file in the same folder or a column, too. Raises `InputError`.
    """
    file, options = split(text.removeprefix(PREFIX))
    if unknown := [name for name in options if name not in (*OPTIONS, *_LINK)]:
        known = ", ".join((*OPTIONS, *_LINK))
        raise InputError(f"{text}: {unknown[0]} is no option; use {known}")
    path = folder / Path(file).expanduser()
    link = {name: options.pop(name) for name in _LINK if name in options}
    delay = link.pop("delay", "0ms")
    recorded, both = _recorded(delay, path.parent), _direction(link)
    if not recorded:
        both = structs.replace(both, delay_ms=parse_duration_ms(delay))
    wanted = options.get("up", "")
    rate, beside, share = _rate(wanted), path.parent / wanted, _share(wanted)
    if rate or share or beside.is_file():
        del options["up"]
    played = read_played(path, options)
    if rate:
        up, note = structs.replace(both, rate_mbps=rate), f"up {wanted} as asked for"
    elif beside.is_file():
        other = read_played(beside)
        up, note = structs.replace(both, trace=other.up or other.down), f"up from {wanted}"
    elif share:
        up = structs.replace(both, trace=played.down.scaled(share))
        note = f"up {wanted} of the rates down"
    elif played.up:
        up, note = structs.replace(both, trace=played.up), ""
    else:
        up = structs.replace(both, trace=played.down)
        note = "both directions play it, because it has one rate only"
    down = structs.replace(both, trace=played.down)
    said = [*played.notes, note]
    if recorded:
        down, notes = _delayed(down, delay, path, "down")
        up, more = _delayed(up, delay, path, "up")
        said += [f"delay from {where}" for where in dict.fromkeys((notes, more))]
    told = "; ".join(filter(None, said))
    return Network(
        name=text.replace(file, path.name),
        source=f"recorded in {path.name}{f': {told}' if told else ''}",
        down=down,
        up=up,
    )


def _delayed(direction: Direction, delay: str, path: Path, side: Side) -> tuple[Direction, str]:
    """Return the direction with the delays of a file beside the trace, or of one of its columns,
    and a note on how they were read."""
    file, _ = split(delay)
    if (path.parent / file).is_file():
        read, where = read_delays(delay, path.parent, side), Path(file).name
    else:
        read, where = read_delays(f"{path.name}?delay={delay}", path.parent, side), path.name
    notes = f" ({', '.join(read.notes)})" if read.notes else ""
    return structs.replace(direction, delay_trace=read.trace), where + notes


def traced(network: Network, text: str) -> Network:
    """Return the network with the rates of a trace file instead of its own. Raises `InputError`."""
    played = trace_network(text)
    try:
        return structs.replace(
            network,
            name=played.name if network.name == "bare" else f"{network.name}, {played.name}",
            source=played.source,
            down=_with_rates(network.down, played.down),
            up=_with_rates(network.up, played.up),
        )
    except ValueError as error:
        raise InputError(f"network {network.name!r} with the trace {text}: {error}") from None


def _direction(options: Mapping[str, str]) -> Direction:
    queue = options.get("queue", "unbounded")
    return Direction(
        loss=parse_loss(options.get("loss", "0%")),
        queue_ms=None if queue == "unbounded" else parse_duration_ms(queue),
    )


def _with_rates(direction: Direction, played: Direction) -> Direction:
    return structs.replace(
        direction,
        rate_mbps=played.rate_mbps,
        trace=played.trace,
        delay_trace=played.delay_trace or direction.delay_trace,
    )


def _recorded(delay: str, folder: Path) -> bool:
    """Return whether the delay is a file in the folder or a column, and no duration."""
    if (folder / split(delay)[0]).is_file():
        return True
    try:
        parse_duration_ms(delay)
    except UnitError:
        return not delay[:1].isdigit()
    return False


def _share(text: str) -> float:
    """Return the share that ``20%`` means; 0 for another text."""
    try:
        return parse_share(text) if text.endswith("%") else 0.0
    except InputError:
        return 0.0


def _rate(text: str) -> float | None:
    try:
        return parse_rate_mbps(text) if text else None
    except InputError:
        return None
