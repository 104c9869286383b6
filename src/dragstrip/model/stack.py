"""A stack: protocol, transport tuning, TLS and server, as one hashed object."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from dragstrip.model import servers
from dragstrip.model.browsers import TODAY, Browser, find_browser
from dragstrip.model.servers import OURS, Records, Server

Protocol = Literal["h1", "h2", "h3", "gquic", "spdy"]
"""The protocol that a request used, as our records of browser and origin name it."""

Congestion = Literal["cubic", "reno", "bbr"]

ConnectionMode = Literal["first", "repeat", "repeat-cached"]
"""The browser's state at a visit: cold; or after loading the same page in the same context, with
connections closed, tickets kept and the cache cleared; or with the cache kept."""


class Stack(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What serves and carries a page. Two stacks with the same fingerprint are the same stack.

    Each visit's evidence proves every field, or it is set without a fallback (docs/reference/
    stack.md). Raises `ValueError` for combinations that no transport offers.
    """

    name: str
    protocol: Protocol
    congestion: Congestion = "cubic"
    """Congestion control of the origin's sending side (kernel TCP or the QUIC library)."""
    initial_window_packets: int = 10
    """Initial congestion window in full packets: TCP segments of 1448 bytes (RFC 6928), QUIC
    datagrams of `udp_payload_bytes` (RFC 9002 section 7.2)."""
    pacing: bool = False
    """Spread a window's packets over the round trip. BBR always does."""
    slow_start_after_idle: bool = True
    """TCP: an idle connection restarts from its initial window (RFC 5681 section 4.1)."""
    buffer_bytes: int | None = None
    """TCP: largest socket buffer at both ends; None keeps the kernel's."""
    receive_window_packets: int | None = None
    """TCP: initial receive window of the client in packets; None keeps the kernel's."""
    fast_open: bool = False
    """TCP: a repeat visit's first flight goes with the SYN (TCP Fast Open, RFC 7413). Only the load
    generator can do this: browsers dropped it."""
    tls_record: Records | None = None
    """TCP: most plaintext bytes per TLS record, 256 to 16384, or ``dynamic``: growing from one
    packet to 16384. None keeps the server's own."""
    udp_payload_bytes: int = 1452
    """QUIC: size of a full UDP payload, without probing."""
    flow_window_bytes: int = 15 * 2**20
    """QUIC: flow-control window granted to the client, per connection and stream."""
    ack_every_packets: int | None = None
    """QUIC: ask the client to acknowledge only every Nth packet (draft-ietf-quic-ack-frequency)."""
    qpack_table_bytes: int = 0
    """HTTP/3: size of QPACK's dynamic table, each way (RFC 9204). HPACK's is 4096 bytes unless a
    side says otherwise (RFC 9113 section 6.5.2)."""
    tls: Literal["1.2", "1.3", "quic-crypto"] = "1.3"
    """gQUIC has its own handshake, QUIC Crypto."""
    resumption: bool = True
    """The origin issues session tickets and accepts them."""
    early_data: bool = False
    """The origin accepts TLS 1.3 early data (TCP) or 0-RTT (QUIC) on resumed connections."""
    post_quantum: bool = True
    """The client offers X25519MLKEM768, so its ClientHello of about 1.7 kB fills two packets and
    fits into no SYN. Only the load generator can leave it out."""
    priorities: bool = True
    """The origin obeys the browser's priorities (RFC 9218)."""
    discovery: Literal["direct", "alt-svc", "as-recorded"] = "direct"
    """h3: the browser knows it in advance, or learns it from Alt-Svc (RFC 7838) and mixes
    protocols; or each host uses its recorded protocol, and h2 if none is recorded."""
    server: str = OURS
    """By name, see `dragstrip.model.servers`."""
    brought: Server | None = None
    """The server itself, if the study defines it."""
    hold_rtts: int = 0
    """The origin delays each connection's first response by this many round trips: a known effect
    that the study must detect."""
    browser: str = TODAY
    """By name, see `dragstrip.model.browsers`; or the path of a Chromium."""
    source: str = ""

    def __post_init__(self) -> None:
        if self.protocol not in self.loaded_by.speaks:
            raise ValueError(f"browser {self.browser} does not speak {self.protocol}")
        foreign = TCP_ONLY if self.transport == "quic" else QUIC_ONLY
        for name in foreign:
            if getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"{name} does not exist for {self.protocol}; omit it")
        serving = self.serving
        if self.protocol not in serving.protocols:
            raise ValueError(f"server {self.server} does not speak {self.protocol}")
        for name, only in serving.fixed.get(self.transport, {}).items():
            if getattr(self, name) != only:
                raise ValueError(f"server {self.server} has {name} = {only!r} and no other")
        for name in serving.own.get(self.transport, ()):
            if getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"server {self.server} decides {name} itself; omit it")
        if not 1 <= self.initial_window_packets <= 1000:
            raise ValueError("initial_window_packets must be between 1 and 1000")
        if isinstance(self.tls_record, int) and not 256 <= self.tls_record <= 16384:
            raise ValueError("tls_record must be between 256 and 16384 bytes, or dynamic")
        if self.tls_record is not None and self.server != OURS:
            raise ValueError(f"server {self.server} chooses its own record sizes: omit tls_record")
        if not 1200 <= self.udp_payload_bytes <= 1472:
            raise ValueError("udp_payload_bytes must be between 1200 and 1472")
        if not 0 <= self.qpack_table_bytes <= 65536:
            raise ValueError("qpack_table_bytes must be between 0 and 65536")
        if self.qpack_table_bytes and self.protocol != "h3":
            raise ValueError(f"qpack_table_bytes does not exist for {self.protocol}; omit it")
        if self.protocol == "h3" and self.tls != "1.3":
            raise ValueError("QUIC needs tls 1.3")
        if (self.protocol == "gquic") != (self.tls == "quic-crypto"):
            raise ValueError("gquic needs tls quic-crypto, and only gquic has it")
        if self.tls == "1.3" and self.loaded_by.newest_tls != "1.3":
            newest = self.loaded_by.newest_tls
            raise ValueError(
                f"browser {self.browser} needs tls {newest}; it supports no later version"
            )
        if self.fast_open and not self.loaded_by.fast_open:
            raise ValueError(
                f"fast_open does not exist for browser {self.browser}: browsers no longer have TCP "
                "Fast Open; race it with --client loader"
            )
        if self.fast_open and self.server != OURS:
            raise ValueError(f"server {self.server} cannot use TCP Fast Open: omit fast_open")
        if not self.post_quantum and not self.loaded_by.follows_graphs:
            raise ValueError(
                f"browser {self.browser} decides which keys it offers; post_quantum = false needs "
                "--client loader"
            )
        if self.early_data and not (self.resumption and self.tls != "1.2"):
            raise ValueError("early_data needs tls 1.3 and resumption")
        if self.discovery == "as-recorded" and self.server != OURS:
            raise ValueError(f"server {self.server} cannot serve each host as it was recorded")
        if self.hold_rtts < 0:
            raise ValueError("hold_rtts must not be negative")
        if self.hold_rtts and self.server != OURS:
            raise ValueError(f"server {self.server} cannot hold responses: omit hold_rtts")

    @property
    def transport(self) -> Literal["tcp", "quic"]:
        return "quic" if self.protocol in ("h3", "gquic") else "tcp"

    @property
    def loaded_by(self) -> Browser:
        """What loads the page. Raises `ValueError` if unknown."""
        return find_browser(self.browser)

    @property
    def serving(self) -> Server:
        """What serves the page. Raises `ValueError` if unknown."""
        found = self.brought or servers.known().get(self.server)
        if not found:
            named = ", ".join(servers.known())
            raise ValueError(f"unknown server {self.server!r}; choose from {named}")
        return found

    @property
    def record(self) -> Records | None:
        """The record size in effect; None over QUIC, or if the server's is unknown."""
        return None if self.transport == "quic" else self.tls_record or self.serving.tls_record

    @property
    def untold(self) -> Mapping[str, str]:
        """What the server's log lacks, by what the verdict would use it for."""
        return self.serving.untold_of(self.transport)

    def connect_rtts(self, *, repeat: bool) -> int:
        """Least round trips until a first request may be sent over https.

        TCP's handshake, then TLS 1.3 (RFC 8446 section 2) or TLS 1.2 with False Start (RFC 7918),
        which takes as long; or QUIC's combined handshake (RFC 9000 section 7; QUIC Crypto's as
        well). Early data goes along with TLS's or QUIC's first message, and with Fast Open TLS's
        first message with the SYN. Alt-Svc begins with TCP, and with QUIC on a repeat visit.
        """
        its_own = self.serving.own.get(self.transport, ())
        early = repeat and (self.early_data or "early_data" in its_own)
        quic = self.transport == "quic" and (self.discovery != "alt-svc" or repeat)
        opens = quic or (repeat and self.fast_open)
        return (0 if opens else 1) + (0 if early else 1)

    def protocols(self, host: str, spoken: Mapping[str, str]) -> frozenset[str]:
        """What an https request to this host of a page may use; `spoken` is that page's."""
        if self.discovery == "as-recorded":
            return frozenset({spoken.get(host, "h2")})
        return frozenset({self.protocol, "h2"} if self.discovery == "alt-svc" else {self.protocol})

    @property
    def paced(self) -> bool:
        return self.pacing or self.congestion == "bbr"

    @property
    def fingerprint(self) -> str:
        """First 12 hex digits of SHA-256 over everything but name and source.

        A field added later counts only if it is set, so older stacks keep their fingerprints.
        """
        left_out = {"name", "source"}
        left_out |= {"hold_rtts"} if not self.hold_rtts else set()
        left_out |= {"browser"} if self.browser == TODAY else set()
        left_out |= {"fast_open"} if not self.fast_open else set()
        left_out |= {"post_quantum"} if self.post_quantum else set()
        left_out |= {"qpack_table_bytes"} if not self.qpack_table_bytes else set()
        left_out |= {"tls_record"} if self.tls_record is None else set()
        left_out |= {"brought"} if self.brought is None else set()
        fields = {k: v for k, v in msgspec.to_builtins(self).items() if k not in left_out}
        return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()[:12]

    def words(self) -> Mapping[str, str]:
        """Each property that applies to this protocol, in words."""
        foreign = TCP_ONLY if self.transport == "quic" else QUIC_ONLY
        own = self.serving.own.get(self.transport, ())
        said = {
            what: f"{what} of its own choice"
            if name in own
            else say(self.record if name == "tls_record" else getattr(self, name))
            for name, (what, say) in _WORDS.items()
            if name not in foreign
        }
        if self.brought:
            said["server"] = f"{self.server}, build {self.brought.digest}"
        return said

    def describe(self) -> str:
        """The whole stack in one line, without defaults."""
        plain = Stack(name="", protocol="h3" if self.transport == "quic" else "h2").words()
        always = ("protocol", "congestion control", "initial window", "TLS", "server")
        said = [w for k, w in self.words().items() if k in always or plain[k] != w]
        return ", ".join(said)


TCP_ONLY = (
    "slow_start_after_idle",
    "buffer_bytes",
    "receive_window_packets",
    "fast_open",
    "tls_record",
)
QUIC_ONLY = (
    "udp_payload_bytes",
    "flow_window_bytes",
    "ack_every_packets",
    "qpack_table_bytes",
    "discovery",
)

_DEFAULTS: Mapping[str, Any] = {f.name: f.default for f in structs.fields(Stack)}
"""By field. Asking msgspec each time takes longer than all the rest of making a stack."""
LIKE_TCP: Mapping[str, Any] = {
    **{name: default for name, default in _DEFAULTS.items() if name in QUIC_ONLY},
    "qpack_table_bytes": 4096,
}
"""What QUIC has that is nearest to what comes with TCP: no option, but HPACK's table."""


def _protocol(protocol: str) -> str:
    over = {"h3": "QUIC", "gquic": "Google's QUIC, version Q043"}
    name = {"gquic": "HTTP/2", "spdy": "SPDY/3.1"}.get(protocol, protocol)
    return f"{name} over {over.get(protocol, 'TCP')}"


def _either(yes: str, no: str) -> Any:
    return lambda value: yes if value else no


_WORDS: Mapping[str, tuple[str, Any]] = {
    "protocol": ("protocol", _protocol),
    "discovery": (
        "discovery",
        {
            "direct": "asked for directly",
            "alt-svc": "discovered by Alt-Svc, after TCP",
            "as-recorded": "only for hosts recorded in it; each other in its recorded protocol",
        }.__getitem__,
    ),
    "congestion": ("congestion control", str),
    "initial_window_packets": ("initial window", "initial window {} packets".format),
    "pacing": ("pacing", _either("paced", "not paced (BBR always is)")),
    "slow_start_after_idle": (
        "after idleness",
        _either("slow start after idleness", "no slow start after idleness"),
    ),
    "buffer_bytes": (
        "socket buffers",
        lambda n: f"socket buffers up to {n} bytes" if n else "the kernel's socket buffers",
    ),
    "receive_window_packets": (
        "initial receive window",
        lambda n: f"initial receive window {n} packets" if n else "the kernel's receive window",
    ),
    "fast_open": ("TCP Fast Open", _either("TCP Fast Open", "no TCP Fast Open")),
    "tls_record": (
        "TLS records",
        lambda n: {
            None: "TLS records of its own choice",
            "dynamic": "TLS records that grow from one packet to 16384 bytes",
        }.get(n, f"TLS records up to {n} bytes"),
    ),
    "udp_payload_bytes": ("packet size", "UDP payload {} bytes".format),
    "flow_window_bytes": ("flow control", "flow-control window {} bytes".format),
    "ack_every_packets": (
        "acknowledgements",
        lambda n: f"asks for an ACK every {n} packets" if n else "acknowledgements as they come",
    ),
    "qpack_table_bytes": (
        "QPACK's dynamic table",
        lambda n: f"QPACK's dynamic table {n} bytes" if n else "no dynamic table in QPACK",
    ),
    "tls": ("TLS", lambda v: "QUIC Crypto" if v == "quic-crypto" else f"TLS {v}"),
    "resumption": ("resumption", _either("resumes sessions", "no resumption")),
    "early_data": ("early data", _either("early data", "no early data")),
    "post_quantum": (
        "key exchange",
        _either("X25519MLKEM768 where the client has it", "no X25519MLKEM768"),
    ),
    "priorities": ("priorities", _either("obeys priorities", "no priorities")),
    "server": ("server", str),
    "hold_rtts": (
        "first response",
        lambda n: f"holds first responses for {n} RTT" if n else "first responses at once",
    ),
    "browser": ("browser", str),
}


NAMES: Mapping[str, str] = {name: what for name, (what, _) in _WORDS.items()}
"""Each field in words."""


def differences(a: Stack, b: Stack) -> list[tuple[str, str, str]]:
    """(property, in `a`, in `b`) for every difference; a dash if one has no such property.

    For two servers, this includes what comes with them and cannot be changed.
    """
    ours, theirs = ({**s.words(), **s.serving.make} for s in (a, b))
    return [
        (what, ours.get(what, "-"), theirs.get(what, "-"))
        for what in dict.fromkeys([*ours, *theirs])
        if ours.get(what) != theirs.get(what)
    ]
