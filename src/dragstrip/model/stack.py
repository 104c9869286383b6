"""A stack: protocol, transport tuning, TLS and server, as one hashed object."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from dragstrip.model import servers
from dragstrip.model.browsers import BROWSERS, TODAY, Browser, find_browser
from dragstrip.model.chain import ML_DSA, CertificateCompression, CertificateKind, Chain, KeyShare
from dragstrip.model.coding import Coding, parse_coding
from dragstrip.model.ech import Ech
from dragstrip.model.servers import OURS, Records, Server

Protocol = Literal["h1", "h2", "h3", "gquic", "spdy"]
"""The protocol that a request used, as browser and origin report it in our records."""

KernelCongestion = Literal["cubic", "reno", "bbr", "dctcp"]
"""Congestion control of TCP, if the kernel has it. DCTCP (RFC 8257) stands in for TCP Prague, which
Linux lacks; its packets are ECT(0)."""

Congestion = Literal["cubic", "reno", "bbr", "bbr3", "prague", "dctcp"]
"""BBR is version 1. BBR version 3 and Prague are of our origin's QUIC."""

Ecn = bool | Literal["accurate", "l4s"]
"""How a sender says that it understands marks: not at all; by ECT(0); by ECT(0), with counts of
marks over TCP (AccECN, RFC 9768); by ECT(1), the mark of scalable senders (L4S, RFC 9331)."""

SlowStartExit = Literal["hystart", "hystart++", "none"]
"""The rule that ends CUBIC's slow start before a loss would: Linux's HyStart, HyStart++ (RFC 9406),
or none."""

EarlyHints = Literal["none", "link", "blocking"]
"""What an answer with status 103 (RFC 8297) names before the final answer: nothing; the recorded
answer's `link` headers; or the style sheets and scripts that block the document's rendering."""

WebSockets = Literal["beside", "same"]
"""The connection that carries a WebSocket: its own connection over HTTP/1.1 (RFC 6455), or the
page's HTTP/2 connection (RFC 8441)."""

ConnectionMode = Literal["first", "repeat", "repeat-cached"]
"""The browser's state when a visit begins. `first` is cold. For the others, the same page was
loaded before in the same context; then connections were closed and tickets kept. `repeat` clears
the cache, `repeat-cached` keeps it."""


Discovery = Literal["direct", "alt-svc", "https", "race", "as-recorded"]
"""How a browser learns of HTTP/3, see `Stack.discovery`."""
MIXES: Mapping[Discovery, bool] = {
    "direct": False,
    "alt-svc": True,
    "https": True,
    "race": True,
    "as-recorded": False,
}
"""Whether a host may answer over h2 as well as over h3."""
_BY_NAME: frozenset[Discovery] = frozenset({"https", "race"})


class Stack(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server, protocol and transport with all their settings. Two stacks with the same
    fingerprint are the same stack.

    Each visit's evidence proves every field, except fields that are set without a fallback
    (docs/reference/stack.md). Raises `ValueError` for combinations that no transport offers.
    """

    name: str
    protocol: Protocol
    congestion: Congestion = "cubic"
    """Congestion control of the origin's sending side (kernel TCP or the QUIC library)."""
    initial_window_packets: int = 10
    """Initial congestion window in full packets: TCP segments of 1448 bytes (RFC 6928), QUIC
    datagrams of `udp_payload_bytes` (RFC 9002 section 7.2)."""
    pacing: bool = False
    """Spread a window's packets over the round trip. BBR and Prague always pace."""
    ecn: Ecn = False
    """Explicit Congestion Notification: over TCP negotiated (RFC 3168), over QUIC as long as the
    client confirms it (RFC 9000 section 13.4). ``accurate``: over TCP with AccECN (RFC 9768).
    ``l4s``: packets are ECT(1) (RFC 9331), for the congestion control ``prague`` alone."""
    slow_start_after_idle: bool = True
    """TCP: an idle connection restarts from its initial window (RFC 5681 section 4.1)."""
    buffer_bytes: int | None = None
    """TCP: largest socket buffer at both ends; None keeps the kernel's."""
    receive_window_packets: int | None = None
    """TCP: initial receive window of the client in packets; None keeps the kernel's."""
    fast_open: bool = False
    """TCP: the first packets of a repeat visit's connections carry data with the SYN (TCP Fast
    Open, RFC 7413). Only the load generator can do this: browsers dropped it."""
    tls_record: Records | None = None
    """TCP: most plaintext bytes per TLS record, 256 to 16384, or ``dynamic``: growing from one
    packet to 16384. None keeps the server's own."""
    unsent_bytes: int = 4096
    """TCP: most bytes that the server's kernel holds unsent. No urgent answer overtakes them
    (TCP_NOTSENT_LOWAT)."""
    interleave_bytes: int = 1360
    """HTTP/2: bytes of an answer that the server sends before the next answer of equal priority has
    its turn. HTTP/3 sends one packet of each."""
    slow_start_exit: SlowStartExit = "hystart"
    """QUIC: rule that ends CUBIC's slow start before a loss. Linux's TCP has HyStart."""
    udp_payload_bytes: int = 1452
    """QUIC: size of a full UDP payload in bytes, used without probing unless `udp_start_bytes` is
    set."""
    udp_start_bytes: int | None = None
    """QUIC: size of a UDP payload in bytes with which a connection begins. From there the origin
    searches the path for at most `udp_payload_bytes` (RFC 8899), so that a path with a small MTU
    loses probes and no data. None: a connection begins with `udp_payload_bytes`."""
    flow_window_bytes: int = 15 * 2**20
    """HTTP/2 and HTTP/3: flow-control window granted to the client, per connection and stream. Over
    HTTP/1.1 only the kernel's receive buffer limits an upload."""
    streams_at_once: int = 256
    """HTTP/2 and HTTP/3: requests that the client may have open at once on a connection."""
    ack_every_packets: int | None = None
    """QUIC: ask the client to acknowledge only every Nth packet (draft-ietf-quic-ack-frequency)."""
    migration: bool = False
    """QUIC: the origin follows a client whose address or port changes (RFC 9000 section 9), as
    after a NAT's rebinding, and gives it connection ids with which to change them itself."""
    handshake_timeout_s: int | None = None
    """QUIC: seconds after which the browser gives up a handshake, whether answers came or not. None
    keeps the browser's own: Chromium gives up after 4 s without an answer, and after 10 s."""
    idle_timeout_s: int | None = None
    """QUIC: seconds without a packet after which the client closes a connection, as it announces
    them (max_idle_timeout, RFC 9000 section 10.1). None keeps the browser's own: 30 s.
    Chromium closes it sooner if it takes the path for a black hole: after five timeouts without an
    acknowledgement."""
    qpack_table_bytes: int = 0
    """HTTP/3: size of QPACK's dynamic table, each way (RFC 9204). HPACK's table has 4096 bytes
    unless a side says otherwise (RFC 9113 section 6.5.2)."""
    tls: Literal["1.2", "1.3", "quic-crypto"] = "1.3"
    """TLS version. gQUIC has its own handshake, QUIC Crypto."""
    resumption: bool = True
    """The origin issues session tickets and accepts them."""
    early_data: bool = False
    """The origin accepts TLS 1.3 early data (TCP) or 0-RTT (QUIC) on resumed connections."""
    post_quantum: bool = True
    """The client offers X25519MLKEM768, so its ClientHello of about 1.7 kB fills two packets and
    does not fit into a SYN. Only the load generator can leave X25519MLKEM768 out."""
    key_share: KeyShare = "X25519"
    """The group in which the server exchanges keys. Chromium and the load generator send no share
    for P-256, so the server asks for it (HelloRetryRequest), which takes a round trip."""
    certificate: CertificateKind = "ecdsa"
    """Keys and signatures of all certificates in the chain. Browsers do not verify ML-DSA; those
    named ``-size`` have its size."""
    chain_length: int = 2
    """Certificates that the server sends, 2 to 8: the leaf and its intermediates."""
    certificate_bytes: int | None = None
    """Least size in bytes (DER) of the certificate chain that the server sends, leaf and
    intermediates: 500 to 60000. None means as large as the
    chain's names and keys need, about 1000."""
    scts: int = 0
    """Signed certificate timestamps (RFC 6962) in the leaf, up to 20, each of 119 bytes. No log
    exists that signed them."""
    staple_bytes: int = 0
    """Least size in bytes of the OCSP response that the server staples, up to 20000; 0 staples
    none."""
    certificate_compression: CertificateCompression = "none"
    """The server compresses its certificates. Chromium reads Brotli."""
    retry: bool = False
    """QUIC: the server answers a client without a token with a Retry packet (RFC 9000 section
    8.1.2), which takes a round trip. After it, the limit of three times the bytes received no
    longer applies."""
    ech: Ech = "none"
    """Encrypted Client Hello (RFC 9849): `keys`: the name's HTTPS record carries the server's key,
    and the client hides the name. `stale-keys`: it carries a key that the server has no more, so
    the server sends its own, and the client connects again (not over QUIC). Only a browser that
    asks for HTTPS records, and a server that has keys."""
    compress: str = ""
    """Content coding of bodies that can be compressed: ``gzip:1`` to ``gzip:9``, ``br:0`` to
    ``br:11``, ``zstd:1`` to ``zstd:19``, or ``identity`` for none. Empty sends each body as it was
    recorded."""
    priorities: bool = True
    """The origin obeys the browser's priorities (RFC 9218)."""
    early_hints: EarlyHints = "none"
    """HTTP/2 and HTTP/3: what the origin announces in a 103 answer (RFC 8297) before the document's
    think time. Browsers ignore 103 answers over HTTP/1.1."""
    websockets: WebSockets = "beside"
    """HTTP/2: the connection that carries WebSockets. HTTP/1.1 and HTTP/3 always have them
    beside."""
    discovery: Discovery = "direct"
    """h3: how the browser learns that a host supports it. `direct`: it knows in advance. `alt-svc`:
    it learns from Alt-Svc (RFC 7838), after an answer over TCP. `https`: it learns from the name's
    HTTPS record (RFC 9460), before the first connection. `race`: both announce it, and the browser
    lets TCP and QUIC race. These three mix protocols. `as-recorded`: each host uses its recorded
    protocol, and h2 if none is recorded."""
    server: str = OURS
    """Name of the server, see `dragstrip.model.servers`."""
    brought: Server | None = None
    """The server itself, if the study defines it."""
    hold_rtts: int = 0
    """The origin delays each connection's first response by this many round trips: a known effect
    that the study must detect."""
    browser: str = TODAY
    """Name of the browser, see `dragstrip.model.browsers`; or the path of a Chromium."""
    source: str = ""

    def __post_init__(self) -> None:
        if self.protocol not in self.loaded_by.speaks:
            raise ValueError(f"browser {self.browser} does not speak {self.protocol}")
        for name in absent(self.protocol):
            if getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"{name} does not exist for {self.protocol}; omit it")
        serving = self.serving
        if self.protocol not in serving.protocols:
            raise ValueError(f"server {self.server} does not speak {self.protocol}")
        for name, only in serving.fixed.get(self.transport, {}).items():
            if getattr(self, name) != only:
                raise ValueError(f"server {self.server} has {name} = {only!r} and no other")
        for name in self.own:
            if getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"server {self.server} decides {name} itself; omit it")
        if why := self._no_such_sender():
            raise ValueError(why)
        if not 1 <= self.initial_window_packets <= 1000:
            raise ValueError("initial_window_packets must be between 1 and 1000")
        if isinstance(self.tls_record, int) and not 256 <= self.tls_record <= 16384:
            raise ValueError("tls_record must be between 256 and 16384 bytes, or dynamic")
        if self.tls_record is not None and self.server != OURS:
            raise ValueError(f"server {self.server} chooses its own record sizes: omit tls_record")
        for name, least, most in _RANGES:
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be between {least} and {most}")
        if self.protocol == "h2" and self.flow_window_bytes < 65535:
            raise ValueError("flow_window_bytes must be at least 65535 (RFC 9113 section 6.9.2)")
        if not 1200 <= self.udp_payload_bytes <= 1472:
            raise ValueError("udp_payload_bytes must be between 1200 and 1472")
        if self.udp_start_bytes is not None and not (
            1200 <= self.udp_start_bytes <= self.udp_payload_bytes
        ):
            raise ValueError(
                f"udp_start_bytes must be between 1200 and udp_payload_bytes, which is "
                f"{self.udp_payload_bytes}"
            )
        for name in TIMEOUTS:
            asked = getattr(self, name)
            if asked is not None and not self.loaded_by.quic_timeouts:
                raise ValueError(f"browser {self.browser} decides {name} itself; omit it")
            if asked is not None and not _SHORTEST_TIMEOUT_S <= asked <= _LONGEST_TIMEOUT_S:
                raise ValueError(
                    f"{name} must be between {_SHORTEST_TIMEOUT_S} and {_LONGEST_TIMEOUT_S}"
                )
        if not 0 <= self.qpack_table_bytes <= 65536:
            raise ValueError("qpack_table_bytes must be between 0 and 65536")
        if self.qpack_table_bytes and self.protocol != "h3":
            raise ValueError(f"qpack_table_bytes does not exist for {self.protocol}; omit it")
        if self.slow_start_exit != "hystart" and self.congestion != "cubic":
            raise ValueError(f"slow_start_exit does not exist for {self.congestion}; omit it")
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
        if self.certificate_bytes is not None and not 500 <= self.certificate_bytes <= 60_000:
            raise ValueError("certificate_bytes must be between 500 and 60000")
        self._check_handshake()
        if self.coding and self.coding.name not in (*self.loaded_by.accepts, "identity"):
            raise ValueError(f"browser {self.browser} does not accept {self.coding.name}")
        if serving.driver in ("second-origin", "codec"):
            for name in _PAGE_AS_IT_IS:
                if getattr(self, name) != _DEFAULTS[name]:
                    raise ValueError(f"server {self.server} cannot change {name}; omit it")
        if self.early_hints != "none" and not self.loaded_by.early_hints:
            raise ValueError(
                f"browser {self.browser} does not report Early Hints: omit early_hints"
            )
        if self.early_data and not (self.resumption and self.tls != "1.2"):
            raise ValueError("early_data needs tls 1.3 and resumption")
        if self.announced and not self.loaded_by.https_records:
            able = ", ".join(name for name, b in BROWSERS.items() if b.https_records)
            needing = "ech" if not self.by_name else f"discovery = {self.discovery!r}"
            raise ValueError(
                f"browser {self.browser} asks for no HTTPS records, which {needing} needs; choose "
                f"a browser that does: {able}"
            )
        if self.ech != "none" and not serving.ech:
            able = ", ".join(name for name, s in servers.known().items() if s.ech)
            raise ValueError(f"server {self.server} has no keys for ech; choose from {able}")
        if self.ech != "none" and self.tls != "1.3":
            raise ValueError(f"ech {self.ech} needs tls 1.3")
        if self.ech == "stale-keys" and self.transport == "quic":
            raise ValueError(
                "ech stale-keys needs TCP: over QUIC Chromium does not connect again, and the load "
                "fails"
            )
        if self.discovery == "as-recorded" and self.server != OURS:
            raise ValueError(f"server {self.server} cannot serve each host as it was recorded")
        if self.hold_rtts < 0:
            raise ValueError("hold_rtts must not be negative")
        if self.hold_rtts and self.server != OURS:
            raise ValueError(f"server {self.server} cannot hold responses: omit hold_rtts")

    def _no_such_sender(self) -> str:
        """Why no sender has this congestion control and ECN; empty if one does."""
        if not exists_over(self.congestion, self.transport):
            other = "h3" if self.transport == "tcp" else "h2"
            return f"congestion {self.congestion} does not exist for {self.protocol}: use {other}"
        if self.ecn == "accurate" and self.transport == "quic":
            return f"ecn accurate is of TCP: {self.protocol} always counts marks; use true"
        if self.ecn == "l4s" and self.transport == "tcp":
            return "ecn l4s does not exist for TCP: Linux has no congestion control that may use it"
        if self.congestion == "prague" and self.ecn != "l4s":
            return 'congestion prague needs ecn = "l4s"'
        if self.congestion != "prague" and self.ecn == "l4s":
            return "ecn l4s needs congestion prague: RFC 9331 section 4 asks for a scalable sender"
        if self.congestion == "dctcp" and not self.ecn:
            return "congestion dctcp needs ecn: it reacts to marks"
        return ""

    def _check_handshake(self) -> None:
        browser, reads = self.loaded_by, self.loaded_by.certificate_compression
        hybrid = self.key_share == "X25519MLKEM768"
        if self.tls != "1.3":
            asked = {
                "key_share": hybrid,
                "certificate": self.certificate in ML_DSA,
                "certificate_compression": self.certificate_compression != "none",
            }
            for name in (name for name, new in asked.items() if new):
                raise ValueError(f"{name} {getattr(self, name)} needs tls 1.3")
        if hybrid and not self.post_quantum:
            raise ValueError("key_share X25519MLKEM768 needs post_quantum = true")
        if self.key_share == "P-256" and self.transport == "quic":
            raise ValueError(
                "key_share P-256 needs TCP: clients send no share of it, and the origin's QUIC "
                "cannot ask for one"
            )
        if self.key_share == "P-256" and self.early_data:
            raise ValueError(
                "key_share P-256 allows no early data: the server asks for another ClientHello"
            )
        if self.certificate in ML_DSA and not browser.follows_graphs:
            raise ValueError(
                f"browser {self.browser} does not verify {self.certificate}; use "
                f"{self.certificate}-size, or --client loader"
            )
        if self.certificate_compression not in ("none", *reads):
            raise ValueError(
                f"browser {self.browser} does not read certificates compressed with "
                f"{self.certificate_compression}: choose from {', '.join(('none', *reads))}"
            )

    @property
    def transport(self) -> Literal["tcp", "quic"]:
        return "quic" if self.protocol in ("h3", "gquic") else "tcp"

    @property
    def loaded_by(self) -> Browser:
        """The browser that loads the page. Raises `ValueError` if it is unknown."""
        return find_browser(self.browser)

    @property
    def serving(self) -> Server:
        """The server of the page. Raises `ValueError` if it is unknown."""
        server = self.brought or servers.known().get(self.server)
        if not server:
            named = ", ".join(servers.known())
            raise ValueError(f"unknown server {self.server!r}; choose from {named}")
        return server

    @property
    def own(self) -> frozenset[str]:
        """Fields that the server decides itself and whose values are unknown to us."""
        its_own = set(self.serving.own.get(self.transport, ()))
        if self.serving.driver != "origin":
            codes = {"compress"} if self.serving.driver == "program" else set()
            its_own |= {*_OUR_SERVER, *codes} - set(self.serving.fixed.get(self.transport, ()))
        return frozenset(its_own.difference(absent(self.protocol)))

    @property
    def record(self) -> Records | None:
        """The record size in effect; None over QUIC, or if the server's size is unknown."""
        return None if self.transport == "quic" else self.tls_record or self.serving.tls_record

    @property
    def coding(self) -> Coding | None:
        """The coding of bodies; None if they are sent as recorded, or if the server decides. Raises
        `ValueError`."""
        return parse_coding(self.compress) if self.compress else None

    @property
    def chain(self) -> Chain:
        """The certificate chain, in the words of the origin."""
        return Chain(
            kind=self.certificate,
            length=self.chain_length,
            bytes=self.certificate_bytes,
            scts=self.scts,
            staple_bytes=self.staple_bytes,
        )

    @property
    def untold(self) -> Mapping[str, str]:
        """What the server's log lacks, by the check that needs the missing data."""
        return self.serving.untold_of(self.transport)

    def connect_rtts(self, *, repeat: bool) -> int:
        """Return the fewest round trips before the first request may be sent over https.

        TCP's handshake is followed by TLS 1.3 (RFC 8446 section 2), or by TLS 1.2 with False Start
        (RFC 7918), which takes as long. QUIC combines the transport's handshake with that of TLS
        (RFC 9000 section 7), and so does QUIC Crypto. Early data is sent with the first message of
        TLS or QUIC. With Fast Open, TLS's first message is sent with the SYN. With Alt-Svc a first
        visit begins with TCP, and a repeat visit with QUIC.
        """
        early = repeat and (self.early_data or "early_data" in self.own)
        quic = self.transport == "quic" and (self.discovery != "alt-svc" or repeat)
        opens = quic or (repeat and self.fast_open)
        return (0 if opens else 1) + (0 if early else 1)

    def protocols(self, host: str, spoken: Mapping[str, str]) -> frozenset[str]:
        """Return the protocols that an https request to `host` may use. `spoken` is `Page.spoken`,
        the recorded protocol of each host; only the discovery `as-recorded` uses it."""
        if self.discovery == "as-recorded":
            return frozenset({spoken.get(host, "h2")})
        return frozenset({self.protocol, "h2"} if MIXES[self.discovery] else {self.protocol})

    @property
    def announced(self) -> tuple[str, ...]:
        """The protocols that each host's HTTPS record names, in order (RFC 9460 section 7.1); empty
        without such records."""
        if self.by_name or (self.ech != "none" and self.transport == "quic"):
            return ("h3", "h2")
        return ("h2",) if self.ech != "none" else ()

    @property
    def by_name(self) -> bool:
        """Whether the client learns of HTTP/3 by its resolver."""
        return self.discovery in _BY_NAME

    @property
    def announces(self) -> bool:
        """Whether answers announce HTTP/3 by Alt-Svc."""
        return self.discovery in ("alt-svc", "race")

    @property
    def paced(self) -> bool:
        return self.pacing or self.congestion in ("bbr", "bbr3", "prague")

    @property
    def kernel_congestion(self) -> KernelCongestion:
        """Congestion control of TCP beside this stack: the stack's own, if TCP has it."""
        own = self.congestion
        return "cubic" if own == "bbr3" or own == "prague" else own

    @property
    def fingerprint(self) -> str:
        """First 12 hex digits of the SHA-256 of all fields but name and source.

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
        left_out |= {name for name in _LATER if getattr(self, name) == _DEFAULTS[name]}
        fields = {k: v for k, v in msgspec.to_builtins(self).items() if k not in left_out}
        return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()[:12]

    def words(self) -> Mapping[str, str]:
        """Describe in words each property that applies to this protocol."""
        own, missing = self.own, absent(self.protocol)
        said = {
            what: f"{what} of its own choice"
            if name in own
            else say(self.record if name == "tls_record" else getattr(self, name))
            for name, (what, say) in _WORDS.items()
            if name not in missing
        }
        if self.brought:
            brought = self.brought
            said["server"] = f"{self.server}, " + (
                f"build {brought.digest}"
                if brought.digest
                else f"{brought.base} in a configuration of its own"
            )
        return said

    def describe(self) -> str:
        """Describe the whole stack in one line, without defaults."""
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
    "unsent_bytes",
    "interleave_bytes",
    "websockets",
)
QUIC_ONLY = (
    "slow_start_exit",
    "udp_payload_bytes",
    "udp_start_bytes",
    "ack_every_packets",
    "migration",
    "handshake_timeout_s",
    "idle_timeout_s",
    "qpack_table_bytes",
    "retry",
    "discovery",
)
TIMEOUTS = ("handshake_timeout_s", "idle_timeout_s")
"""How long a client waits over QUIC."""
_SHORTEST_TIMEOUT_S, _LONGEST_TIMEOUT_S = 5, 180
"""Our origin closes a silent connection after 180 s (quic/mod.rs)."""
STREAMS_ONLY = (
    "flow_window_bytes",
    "streams_at_once",
    "interleave_bytes",
    "early_hints",
    "websockets",
)
"""Fields that concern streams, which HTTP/1.1 lacks, or features that browsers ignore over
HTTP/1.1."""
_OUR_SERVER = (
    "unsent_bytes",
    "interleave_bytes",
    "flow_window_bytes",
    "streams_at_once",
    "early_hints",
    "websockets",
    "migration",
    "udp_start_bytes",
    "key_share",
    "staple_bytes",
    "certificate_compression",
    "retry",
)
"""Fields that only our origin obeys. Another server decides them, unless its file fixes their
values."""
_PAGE_AS_IT_IS = ("certificate", "chain_length", "certificate_bytes", "scts", "compress")
"""Properties that our servers for old protocols do not support."""
_LATER = (
    "unsent_bytes",
    "interleave_bytes",
    "streams_at_once",
    "ecn",
    "slow_start_exit",
    "certificate_bytes",
    "compress",
    "early_hints",
    "websockets",
    "migration",
    "udp_start_bytes",
    "key_share",
    "certificate",
    "chain_length",
    "scts",
    "staple_bytes",
    "certificate_compression",
    "retry",
    "ech",
    *TIMEOUTS,
)
"""Fields added later, which count in a fingerprint only if they are set."""
_RANGES = (
    ("unsent_bytes", 1, 2**31 - 1),
    ("interleave_bytes", 1, 16375),
    ("flow_window_bytes", 1, 2**31 - 1),
    ("streams_at_once", 1, 2**31 - 1),
    ("chain_length", 2, 8),
    ("scts", 0, 20),
    ("staple_bytes", 0, 20_000),
)


def exists_over(congestion: Congestion, transport: str) -> bool:
    """Whether this transport, ``tcp`` or ``quic``, has the congestion control."""
    return _ONLY_OVER.get(congestion, transport) == transport


def absent(protocol: Protocol) -> tuple[str, ...]:
    """Return the fields that have no meaning for this protocol."""
    if protocol == "h1":
        return QUIC_ONLY + STREAMS_ONLY
    return TCP_ONLY if protocol in ("h3", "gquic") else QUIC_ONLY


_ONLY_OVER: Mapping[str, str] = {"bbr3": "quic", "prague": "quic", "dctcp": "tcp"}
"""The only transport that has this congestion control."""

_DEFAULTS: Mapping[str, Any] = {f.name: f.default for f in structs.fields(Stack)}
"""Default of each field. Reading them from msgspec each time would take most of the time of making
a stack."""
LIKE_TCP: Mapping[str, Any] = {
    **{name: default for name, default in _DEFAULTS.items() if name in QUIC_ONLY + STREAMS_ONLY},
    "qpack_table_bytes": 4096,
}
"""Values, for fields that TCP lacks, that come closest to TCP's behaviour: the defaults, and
HPACK's table size."""


def _protocol(protocol: str) -> str:
    over = {"h3": "QUIC", "gquic": "Google's QUIC, version Q043"}
    name = {"gquic": "HTTP/2", "spdy": "SPDY/3.1"}.get(protocol, protocol)
    return f"{name} over {over.get(protocol, 'TCP')}"


def _either(yes: str, no: str) -> Any:
    return lambda value: yes.format(value) if value else no


def _certificates(kind: str) -> str:
    name = kind.removesuffix("-size").upper()
    if kind.endswith("-size"):
        return f"ECDSA certificates of the size of {name}'s"
    return f"{name} certificates"


_WORDS: Mapping[str, tuple[str, Any]] = {
    "protocol": ("protocol", _protocol),
    "discovery": (
        "discovery",
        {
            "direct": "asked for directly",
            "alt-svc": "discovered by Alt-Svc, after TCP",
            "https": "discovered by the name's HTTPS record, before any connection",
            "race": "raced against TCP, once HTTPS record or Alt-Svc announce it",
            "as-recorded": "only for hosts recorded in it; each other in its recorded protocol",
        }.__getitem__,
    ),
    "congestion": ("congestion control", str),
    "initial_window_packets": ("initial window", "initial window {} packets".format),
    "pacing": ("pacing", _either("paced", "not paced (BBR always is)")),
    "ecn": (
        "ECN",
        {False: "no ECN", True: "ECN", "accurate": "accurate ECN", "l4s": "L4S"}.__getitem__,
    ),
    "slow_start_exit": (
        "slow-start exit",
        {
            "hystart": "slow start ends by HyStart, as Linux has it",
            "hystart++": "slow start ends by HyStart++",
            "none": "slow start ends with a loss",
        }.__getitem__,
    ),
    "slow_start_after_idle": (
        "after idleness",
        _either("slow start after idleness", "no slow start after idleness"),
    ),
    "buffer_bytes": (
        "socket buffers",
        _either("socket buffers up to {} bytes", "the kernel's socket buffers"),
    ),
    "receive_window_packets": (
        "initial receive window",
        _either("initial receive window {} packets", "the kernel's receive window"),
    ),
    "fast_open": ("TCP Fast Open", _either("TCP Fast Open", "no TCP Fast Open")),
    "tls_record": (
        "TLS records",
        lambda n: {
            None: "TLS records of its own choice",
            "dynamic": "TLS records that grow from one packet to 16384 bytes",
        }.get(n, f"TLS records up to {n} bytes"),
    ),
    "unsent_bytes": ("unsent data", "up to {} bytes unsent in the kernel".format),
    "interleave_bytes": ("turns of equal answers", "{} bytes of each equal answer in turn".format),
    "udp_payload_bytes": ("packet size", "UDP payload {} bytes".format),
    "udp_start_bytes": (
        "packet size at first",
        _either("searches for its packet size from {} bytes", "full packets at once"),
    ),
    "flow_window_bytes": ("flow control", "flow-control window {} bytes".format),
    "streams_at_once": ("requests at once", "up to {} requests at once".format),
    "ack_every_packets": (
        "acknowledgements",
        _either("asks for an ACK every {} packets", "acknowledgements as they come"),
    ),
    "migration": (
        "migration",
        _either("follows a client to another address", "follows no client to another address"),
    ),
    "handshake_timeout_s": (
        "handshake timeout",
        _either("waits {} s for a handshake", "the browser's handshake timeout"),
    ),
    "idle_timeout_s": (
        "idle timeout",
        _either("closes connections idle for {} s", "the browser's idle timeout"),
    ),
    "qpack_table_bytes": (
        "QPACK's dynamic table",
        _either("QPACK's dynamic table {} bytes", "no dynamic table in QPACK"),
    ),
    "tls": ("TLS", lambda v: "QUIC Crypto" if v == "quic-crypto" else f"TLS {v}"),
    "resumption": ("resumption", _either("resumes sessions", "no resumption")),
    "early_data": ("early data", _either("early data", "no early data")),
    "post_quantum": (
        "offered keys",
        _either("the client offers X25519MLKEM768", "the client does not offer X25519MLKEM768"),
    ),
    "key_share": ("key exchange", "keys exchanged in {}".format),
    "certificate": ("certificates", _certificates),
    "chain_length": ("chain length", "a chain of {} certificates".format),
    "certificate_bytes": (
        "certificate size",
        _either("certificates of {} bytes", "certificates without padding"),
    ),
    "scts": ("certificate timestamps", lambda n: f"{n} SCTs" if n else "no SCTs"),
    "staple_bytes": (
        "OCSP staple",
        _either("an OCSP staple of {} bytes", "no OCSP staple"),
    ),
    "certificate_compression": (
        "certificate compression",
        lambda v: "certificates as they are" if v == "none" else f"certificates in {v}",
    ),
    "retry": ("address validation", _either("a Retry first", "no Retry")),
    "ech": (
        "Encrypted Client Hello",
        {
            "none": "no Encrypted Client Hello",
            "keys": "Encrypted Client Hello, with the key from the name's HTTPS record",
            "stale-keys": "Encrypted Client Hello, with a stale key in the name's HTTPS record",
        }.__getitem__,
    ),
    "compress": (
        "content coding",
        lambda v: f"content coding {v}" if v else "bodies coded as recorded",
    ),
    "priorities": ("priorities", _either("obeys priorities", "no priorities")),
    "early_hints": (
        "Early Hints",
        {
            "none": "no Early Hints",
            "link": "Early Hints of the recorded links",
            "blocking": "Early Hints of what holds up rendering",
        }.__getitem__,
    ),
    "websockets": (
        "WebSockets",
        {
            "beside": "WebSockets on their own over HTTP/1.1",
            "same": "WebSockets on its connections (RFC 8441)",
        }.__getitem__,
    ),
    "server": ("server", str),
    "hold_rtts": (
        "first response",
        _either("holds first responses for {} RTT", "first responses at once"),
    ),
    "browser": ("browser", str),
}


NAMES: Mapping[str, str] = {name: what for name, (what, _) in _WORDS.items()}
"""Each field's name in words."""


def differences(a: Stack, b: Stack) -> list[tuple[str, str, str]]:
    """List every difference as (property, value in `a`, value in `b`), with a dash if a stack lacks
    the property.

    For two servers, their built-in properties are included.
    """
    ours, theirs = ({**s.words(), **s.serving.make} for s in (a, b))
    return [
        (what, ours.get(what, "-"), theirs.get(what, "-"))
        for what in dict.fromkeys([*ours, *theirs])
        if ours.get(what) != theirs.get(what)
    ]
