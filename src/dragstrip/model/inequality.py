"""Lists how two stacks differ beyond the protocol. A comparison that hides these differences
misleads.

Properties that exist over only one transport are part of the protocol, with two exceptions. Over
TCP, socket buffers, the receive window, slow start after idleness and TLS records only bring TCP
closer to QUIC's design, so they never count against QUIC. Over QUIC, every difference from stock
QUIC counts, and so does the browser's number of packets per acknowledgement.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from dragstrip.model.browsers import find_browser
from dragstrip.model.configuration import differing_lines, same_program
from dragstrip.model.stack import (
    LIKE_TCP,
    NAMES,
    QUIC_ONLY,
    STREAMS_ONLY,
    TCP_ONLY,
    Stack,
    differences,
)

SIX_CONNECTIONS = "connections (h1 opens up to six per host, each with its own initial window)"
"""HTTP/1.1's connections per host in every browser (RFC 9112 section 9.4 sets no number)."""
_TCP_ACKNOWLEDGES = 2
"""Packets per acknowledgement over TCP (RFC 5681 section 4.2)."""


_FEW_LINES = 2


class Inequality(Struct, frozen=True):
    """A property in which two stacks differ. `field` is a field of `Stack`, or ``connections`` for
    h1's."""

    field: str
    words: str
    """The difference in words, with the second stack's value first: ``initial window 32 against
    10``."""


def inequalities(a: Stack, b: Stack) -> list[Inequality]:
    """List how `b` differs from `a` besides the protocol, in the order of the stack's fields."""
    unequal = []
    if a.protocol != b.protocol and "h1" in (a.protocol, b.protocol):
        unequal.append(Inequality("connections", SIX_CONNECTIONS))
    of_their_own = _of_its_own(a) | _of_its_own(b)
    for name, say in _SAY.items():
        of_a, of_b = _value(a, name, b), _value(b, name, a)
        if of_a != of_b and name not in of_their_own:
            unequal.append(Inequality(name, say(of_b, of_a)))
    if a.serving != b.serving and same_program(a.serving, b.serving):
        unequal = [one for one in unequal if one.field != "server"]
        unequal.append(Inequality("server", _configuration(b, a)))
    unequal += _own_choices(a, b)
    return unequal


def server_words(a: Stack, b: Stack) -> list[str]:
    """Say how the servers of two stacks differ: by the lines of two configurations, or by the
    properties of two servers."""
    if a.serving == b.serving:
        return []
    if same_program(a.serving, b.serving):
        return differing_lines(a.serving, b.serving)
    make = {*a.serving.make, *b.serving.make}
    said = [f"{what} {mine} against {its}" for what, its, mine in differences(a, b) if what in make]
    return said + [one.words for one in _own_choices(a, b)]


def _configuration(b: Stack, a: Stack) -> str:
    """Say which lines of the configurations differ if they are few, otherwise how many; `dragstrip
    compare` prints all."""
    lines = differing_lines(a.serving, b.serving)
    shown = f": {'; '.join(lines)}" if len(lines) <= _FEW_LINES else ""
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"configuration of {a.serving.base or a.server} ({count}{shown})"


def _own_choices(a: Stack, b: Stack) -> Iterator[Inequality]:
    """Yield differences in properties that the servers decide themselves. Yields none if one server
    serves both stacks over one transport, because it decides the same for both."""
    if same_program(a.serving, b.serving) and a.transport == b.transport:
        return
    choose = [s for s in (b, a) if _of_its_own(s)]
    if choose:
        named = [n for n in _SAY if any(n in _of_its_own(s) for s in choose)]
        what = ", ".join(NAMES[{"paced": "pacing"}.get(n, n)] for n in named)
        who = " and ".join(dict.fromkeys(s.server for s in choose))
        verb = "decides itself" if len({s.server for s in choose}) == 1 else "decide themselves"
        yield Inequality("own", f"what {who} {verb} ({what})")


def _of_its_own(stack: Stack) -> set[str]:
    """Return the properties that the stack's server decides without reporting them, by their names
    in `_SAY`."""
    return {{"pacing": "paced"}.get(name, name) for name in stack.own}


def sentences(b: Stack, others: Sequence[Stack]) -> list[str]:
    """Return sentences such as ``h3+ and h2 also differ in: initial window 32 against 10,
    pacing.``, one for each group of other stacks with the same differences."""
    alike: dict[tuple[str, str], list[str]] = {}
    for a in others:
        if found := inequalities(a, b):
            also = "also " if a.protocol != b.protocol else ""
            words = ", ".join(one.words for one in found)
            alike.setdefault((also, words), []).append(a.name)
    return [
        f"{b.name} and {_each(names)} {also}differ in: {words}."
        for (also, words), names in alike.items()
    ]


def of_uploads(stacks: Sequence[Stack]) -> list[str]:
    """Say how uploads differ between transports in ways that no stack sets: in the sender, and in
    the receive buffer of the kernel."""
    if len({stack.transport for stack in stacks}) == 1:
        return []
    return [
        "Uploads over TCP and QUIC also differ in: the client's congestion control (the kernel's "
        "CUBIC, the client's own over QUIC), and the kernel's receive buffer, which bounds the "
        "flow-control window over TCP."
    ]


def _each(names: Sequence[str]) -> str:
    *most, last = names
    return f"each of {', '.join(most)} and {last}" if most else last


def _value(stack: Stack, name: str, other: Stack) -> object:
    """Return the stack's value to compare with `other`; None or the stock value if one of the two
    stacks lacks the property."""
    if name in STREAMS_ONLY and "h1" in (stack.protocol, other.protocol):
        return None
    if stack.transport != other.transport:
        if name == "interleave_bytes":
            return LIKE_TCP[name] if stack.transport == "quic" else stack.interleave_bytes
        if name == "websockets":
            return stack.websockets
        if name in TCP_ONLY or name == "record":
            return None
        if name == "qpack_table_bytes" and "h1" in (stack.protocol, other.protocol):
            return None  # HTTP/1.1 compresses no headers
        if name == "ack_every_packets":
            return _acknowledged(stack)
        if name in QUIC_ONLY and stack.transport == "tcp":
            return LIKE_TCP[name]
        if name == "tls" and "gquic" in (stack.protocol, other.protocol):
            return None
    return getattr(stack, name)


def _acknowledged(stack: Stack) -> int:
    """Return the number of packets of a long answer per acknowledgement. If it is unknown, return
    the number over TCP."""
    if stack.transport == "tcp":
        return _TCP_ACKNOWLEDGES
    return stack.ack_every_packets or stack.loaded_by.packets_per_ack or _TCP_ACKNOWLEDGES


def _against(label: str, unit: str = "") -> Callable[[object, object], str]:
    return lambda b, a: f"{label} {b or 'stock'} against {a or 'stock'}{unit}"


def _plain(label: str) -> Callable[[object, object], str]:
    return lambda b, a: label


def _coding(b: object, a: object) -> str:
    return f"content coding {b or 'as recorded'} against {a or 'as recorded'}"


def _certificates(b: object, a: object) -> str:
    size = " against ".join(f"{n} bytes" if n else "unpadded" for n in (b, a))
    return f"certificate chain {size}"


def _start(b: object, a: object) -> str:
    begins = " against ".join(f"from {n} bytes on" if n else "none" for n in (b, a))
    return f"search for the packet size {begins}"


_DISCOVERED: dict[object, str] = {
    "alt-svc": "by Alt-Svc",
    "https": "by HTTPS record",
    "race": "by a race",
}


def _discovery(b: object, a: object) -> str:
    mixed = "as-recorded" in (a, b)
    if mixed:
        return "each host in its recorded protocol"
    if "direct" in (a, b):  # TCP and a forced protocol have nothing to discover
        return f"discovery {_DISCOVERED[a if b == 'direct' else b]}"
    return f"discovery {_DISCOVERED[b]} against {_DISCOVERED[a]}"


def _websockets(b: object, a: object) -> str:
    where = {"same": "on the page's connections", "beside": "on their own over HTTP/1.1"}
    return f"WebSockets {where[str(b)]} against {where[str(a)]}"


def _browsers(b: object, a: object) -> str:
    return f"browser ({find_browser(str(b)).what} against {find_browser(str(a)).what})"


def _ecn(b: object, a: object) -> str:
    names = {True: "ECN", False: "no ECN", "accurate": "accurate ECN", "l4s": "L4S"}
    if isinstance(a, bool) and isinstance(b, bool):
        return "ECN"
    return f"{names[b]} against {names[a]}"


def _timeout(what: str) -> Callable[[object, object], str]:
    def say(b: object, a: object) -> str:
        told = [f"{n} s" if n else "the browser's" for n in (b, a)]
        return f"{what} {told[0]} against {told[1]}"

    return say


_SAY: dict[str, Callable[[object, object], str]] = {
    "congestion": _against("congestion control"),
    "initial_window_packets": _against("initial window"),
    "paced": _plain("pacing"),
    "ecn": _ecn,
    "slow_start_exit": _against("slow-start exit"),
    "slow_start_after_idle": _plain("slow start after idleness"),
    "buffer_bytes": _against("socket buffers", " bytes"),
    "receive_window_packets": _against("initial receive window", " packets"),
    "record": _against("TLS records", " bytes"),
    "unsent_bytes": _against("unsent data in the kernel", " bytes"),
    "interleave_bytes": _against("turns of equal answers", " bytes"),
    "udp_payload_bytes": _against("UDP payloads", " bytes"),
    "udp_start_bytes": _start,
    "flow_window_bytes": _against("flow-control window", " bytes"),
    "streams_at_once": _against("requests at once"),
    "migration": _plain("connection migration"),
    "ack_every_packets": _against("packets per acknowledgement"),
    "qpack_table_bytes": lambda b, a: f"header table {b} against {a} bytes",
    "tls": _against("TLS"),
    "resumption": _plain("session resumption"),
    "post_quantum": _plain("keys that the client offers"),
    "key_share": _against("key exchange"),
    "certificate": _against("certificates"),
    "chain_length": _against("certificates in the chain"),
    "fast_open": _plain("TCP Fast Open on repeat visits"),
    "early_data": _plain("early data on repeat visits"),
    "certificate_bytes": _certificates,
    "scts": lambda b, a: f"{b} against {a} SCTs",
    "staple_bytes": lambda b, a: f"OCSP staple {b} against {a} bytes",
    "certificate_compression": _against("compression of certificates"),
    "retry": _plain("Retry"),
    "handshake_timeout_s": _timeout("handshake timeout"),
    "idle_timeout_s": _timeout("idle timeout"),
    "ech": _against("Encrypted Client Hello"),
    "compress": _coding,
    "priorities": _plain("priorities"),
    "early_hints": _against("Early Hints"),
    "websockets": _websockets,
    "discovery": _discovery,
    "server": _against("server"),
    "hold_rtts": _against("round trips by which first responses are held"),
    "browser": _browsers,
}
