"""A visit: one page load, the evidence about it, and the verdict.

All `*_ms` of requests and of the page count from the navigation's start (the browser's
timeOrigin), so they can be drawn on one axis. `t_*_us` are microseconds of the Unix epoch
(CLOCK_REALTIME), shared by browser, link and origin.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from dragstrip.model.background import BackgroundReport
from dragstrip.model.clock import ClockKind
from dragstrip.model.done import AT_LOAD
from dragstrip.model.effects import DROPS, Counters, Side
from dragstrip.model.lookups import NameLookup
from dragstrip.model.page import address
from dragstrip.model.sockets import ServedSocket, Socket
from dragstrip.model.stack import ConnectionMode, Protocol, SlowStartExit
from dragstrip.model.steps import Rebound

Outcome = Literal["loaded", "incomplete", "failed", "timeout"]
"""How the load ended. All but `loaded` are results (censored at the limit), not mistakes of the
testbed. `incomplete` is a load event without objects of the page that the network lost."""

ReasonCode = Literal[
    "fallback",  # no request used the stack's protocol
    "mixed",  # some requests used another protocol
    "replay-miss",  # recorded objects not served, or too many requests the recording lacks
    "link-drift",  # the link did not deliver the network that was asked for
    "impossible",  # faster than bytes / rate and the round trips allow
    "overloaded",  # the host was too busy for link, browser or server to keep their times
    "warm",  # a first visit used resumed connections, early data or cached answers
    "stack-drift",  # browser and origin disagree, or the stack was not what it claims
    "picture-mismatch",  # the final picture is not the page's reference
    "aborted",  # the load was aborted, but not by stack or network
    "clock-jump",  # the clock was set during the visit, or the browser's clock differs
    "device-drift",  # the client's processor was not as slow as was asked
    "content-mismatch",  # what was fetched is not the page's content, or differs within the block
]


class Reason(Struct, frozen=True):
    """Why a visit is invalid. `detail` names the evidence, with numbers."""

    code: ReasonCode
    detail: str


BY_SCRIPTS = ("XHR", "Fetch", "Ping", "Preflight")
"""Browsers' types of requests for which no load event waits, because scripts make them."""
MISDIRECTED = 421
"""Status of an answer from a server that does not serve the host (RFC 9110 section 15.5.20).
Browsers send the request again, over another connection."""


class Request(Struct, frozen=True, kw_only=True):
    """One request as the browser saw it. Times are None if the browser gave none."""

    url: str
    host: str
    method: str = "GET"
    protocol: Protocol | None
    """The protocol that was really used; None if no answer arrived."""
    status: int = 0
    mime: str = ""
    resource_type: str = ""
    """CDP resource type: Document, Stylesheet, Script, Image, Font, XHR, Fetch, Other ..."""
    priority: str = ""
    initiator: str = ""
    """URL of the resource that caused the request, if the browser named one."""
    initiator_type: str = ""
    """How the initiator caused the request: CDP's parser, script, preload, preflight, other; empty
    if unknown."""
    initiator_bytes: int | None = None
    """Bytes of the initiator's body, without content encoding, that had reached the page when it
    caused the request; None if the browser does not report it."""
    connection: int = 0
    """The browser's id of the connection, unique within a visit."""
    reused: bool = False
    remote_ip: str = ""
    remote_port: int = 0
    """The server's port; 0 if unknown."""
    key_share: str = ""
    """The group in which the connection's keys were exchanged; empty if the browser did not say."""
    ech: bool | None = None
    """Whether the server took the encrypted ClientHello (RFC 9849); None if the browser did not
    say, and in older capsules."""
    signed_by: str = ""
    """The kind of key with which the server signed the connection's handshake: `ecdsa`, `rsa`,
    `ml-dsa-44`, `ml-dsa-65`, or TLS's number of the scheme; empty if the browser did not say."""
    certificate_bytes: int | None = None
    """Length (DER) of the certificates that the connection showed; None if it resumed, or if the
    browser did not say."""
    from_cache: bool = False
    hinted: bool = False
    """Whether an answer with status 103 (Early Hints, RFC 8297) named the resource before the
    browser requested it."""
    coding: str = ""
    """Content encoding of the answer as it was received; empty for none, and in older capsules."""
    error: str = ""
    """The browser's network error such as net::ERR_ABORTED; empty if the request ended well."""
    wire_bytes: int = 0
    """Encoded bytes received, header and body, as the browser counts them. If the browser gave up
    an image that it cannot decode, these are the bytes counted until then."""
    body_bytes: int | None = None
    """Bytes of the body received, without content encoding; None if the browser does not count
    them."""
    digest: str = ""
    """Digest of the body, see `dragstrip.model.page.digest_of`; empty unless the body was read.
    Only a sample of bodies is read."""
    start_ms: float
    """When the browser decided to fetch the resource."""
    dns_start_ms: float | None = None
    dns_end_ms: float | None = None
    connect_start_ms: float | None = None
    connect_end_ms: float | None = None
    tls_start_ms: float | None = None
    send_start_ms: float | None = None
    send_end_ms: float | None = None
    response_start_ms: float | None = None
    end_ms: float | None = None

    @property
    def address(self) -> str:
        return address(self.url)


class Served(Struct, frozen=True, kw_only=True):
    """One line of the origin's request log."""

    t_us: int
    """When the request headers were complete."""
    received_us: int | None = None
    """When the request was complete with its body. If another server stands before the origin, the
    request is complete once that server has passed it on. 0 if it never was complete; None if the
    server does not report the time, and in older capsules."""
    received_bytes: int | None = None
    """Bytes of the request's body, 0 until the body is complete; None if the server does not report
    them, and in older capsules."""
    ready_us: int | None = None
    """When the answer was ready to be sent, 0 if it never was; None if the server does not report
    the time, and in older capsules."""
    end_us: int
    """When the last byte of the answer was handed to the transport; 0 if it never was."""
    host: str
    method: str
    url: str
    protocol: Protocol
    connection: int
    """The origin's id of the connection, see `Connection`."""
    client_port: int
    resumed: bool
    early: bool
    """Whether the request arrived as early data (TLS 1.3 early data or QUIC 0-RTT)."""
    status: int
    body_bytes: int
    match: Literal["exact", "query", "preflight", "miss", "misdirected", "own"]
    """How the recording answered: with this URL; with the nearest query string; with a synthetic
    CORS preflight; not at all (404); with 421, because the host is served at another address. `own`
    means that the server answered without using the recording."""
    digest: str = ""
    """Digest of the recorded body that was sent, whole or in part (a range), without content
    encoding; see `dragstrip.model.page.digest_of`. Empty if the server does not report it."""
    hints: tuple[str, ...] = ()
    """The `link` values of an answer with status 103 (RFC 8297) that came before this answer; none
    if the server does not report them."""

    @property
    def address(self) -> str:
        return address(self.url)


class Offer(Struct, frozen=True, kw_only=True):
    """The limits that one end of a connection set for the other: SETTINGS and the first
    WINDOW_UPDATE (RFC 9113), or transport parameters (RFC 9000)."""

    window_bytes: int
    """Bytes that may be sent on all streams together, before more is granted."""
    stream_window_bytes: int
    """Bytes that may be sent on the stream of one request."""
    streams: int | None
    """Most streams that the other end may have open at once; None means no limit."""
    migration: bool | None = None
    """Whether the other end may change its address (RFC 9000 section 18.2,
    disable_active_migration); None over TCP, and in older capsules."""
    idle_ms: int | None = None
    """Milliseconds of silence after which this end closes the connection (RFC 9000 section 10.1);
    0 if it never does. None over TCP, and in older capsules."""


class EcnCounts(Struct, frozen=True, kw_only=True):
    """Packets by the code point with which they came (RFC 3168 section 5), as a QUIC client counts
    them."""

    ect0: int
    """Packets that came as ECT(0)."""
    ect1: int
    """Packets that came as ECT(1)."""
    ce: int
    """Packets that came marked."""


class Transport(Struct, frozen=True, kw_only=True):
    """The origin's sending side of a connection when it ended: TCP_INFO, or quinn's statistics.

    Windows count full packets. A field is None if the transport does not report it.
    """

    congestion: str
    """The congestion control in effect, by the kernel's name."""
    slow_start_exit: SlowStartExit | None = None
    """The rule that ends CUBIC's slow start in this kernel, over TCP; None for other congestion
    control and in older capsules."""
    initial_window_packets: int
    """Congestion window in packets before any packet was acknowledged."""
    paced: bool
    pacing_mbps: float | None = None
    """Pacing rate in Mbit/s at the end."""
    window_packets: int = 0
    rtt_ms: float | None = None
    min_rtt_ms: float | None = None
    sent_bytes: int = 0
    sent_packets: int = 0
    delivered_packets: int | None = None
    retransmitted_packets: int | None = None
    lost_packets: int = 0
    """Packets declared lost; over TCP, packets retransmitted."""
    congestion_events: int | None = None
    ecn_counts: EcnCounts | None = None
    """What the client counted in its ACK_ECN frames (RFC 9000 section 19.3.2); None over TCP,
    without ECN, and in older capsules."""
    packet_bytes: int = 0
    """UDP payload of a full packet, or TCP's segment size."""
    ack_frequency_frames: int | None = None
    """Number of times that the client was asked to acknowledge less often."""
    qpack_request_entries: int | None = None
    """HTTP/3: entries that the client put into QPACK's dynamic table for its requests."""
    qpack_answer_entries: int | None = None
    """HTTP/3: entries that the origin put into QPACK's dynamic table for its answers."""
    tls_records: int | None = None
    """TLS records that carried answers; None over QUIC and http://."""
    tls_early_record_bytes: int | None = None
    """Plaintext of the largest of the first 40 TLS records of answers; None over QUIC and
    http://."""
    tls_largest_record_bytes: int | None = None
    """Plaintext of the largest TLS record of answers; None over QUIC and http://."""
    unsent_bytes: int | None = None
    """Most bytes that the kernel holds unsent; None over QUIC, and in older capsules."""
    client_at: str | None = None
    """Address and port where the origin last saw the client; None over TCP, and in older
    capsules."""
    offer: Offer | None = None
    """Limits that the origin set for the client; None over HTTP/1.1, for an HTTP/2 connection
    without requests, and in older capsules."""
    client_offer: Offer | None = None
    """Limits that the client set for the origin; None over HTTP/1.1, for an HTTP/2 connection
    without requests, and in older capsules."""


class Connection(Struct, frozen=True, kw_only=True):
    """A connection that the origin accepted, or whose handshake failed (`error`)."""

    id: int
    protocol: Protocol | None
    """The protocol that the handshake agreed on; None if the handshake failed before that."""
    host: str | None
    """The name that the client asked for (SNI); None if it sent none."""
    secure: bool = True
    """Whether the connection uses TLS; it does not for http://."""
    client_port: int
    address: str | None = None
    """Address at which the server accepted the connection; None if the server does not report
    it."""
    t_us: int
    """When the server accepted the connection, before the handshake."""
    handshake_end_us: int | None = None
    """When the connection's handshake had ended or failed; with early data, when the early data
    arrived. None if the server does not report it, and in older capsules."""
    resumed: bool = False
    key_share: str | None = None
    """The group in which keys were exchanged; None if the server does not report it, and in older
    capsules."""
    certificate_bytes: int | None = None
    """Length in bytes (DER) of the certificate chain that the server sent. None if it sent none, as
    on a resumed connection, or does not report it."""
    certificate: str | None = None
    """Kind of the chain's keys, see `Stack.certificate`. Where `certificate_bytes` is None, this
    and the next five are None, too, and in older capsules."""
    chain_length: int | None = None
    """Certificates in the chain: the leaf and its intermediates."""
    scts: int | None = None
    """Signed certificate timestamps in the leaf."""
    staple_bytes: int | None = None
    """Length of the stapled OCSP response; 0 if there was none."""
    certificate_compression: str | None = None
    """Compression of the certificates (RFC 8879)."""
    compressed_bytes: int | None = None
    """Length of the compressed certificates, with a staple; None if they were not compressed."""
    retried: bool | None = None
    """Whether the client came back with the token of a Retry packet; None if the server does not
    report it, and in older capsules."""
    ech: bool | None = None
    """Whether the ClientHello was encrypted, and the server had the key (RFC 9849); None if the
    server does not report it, and in older capsules."""
    error: str = ""
    """Why the handshake failed; empty if it succeeded."""
    transport: Transport | None = None
    """State of the server's sending side; None in older capsules."""


Opening = Literal["not-asked", "no-cookie", "accepted", "refused"]
"""The result of TCP Fast Open. `accepted` means that the SYN's data was acknowledged
(TCPI_OPT_SYN_DATA)."""


class FastOpen(Struct, frozen=True, kw_only=True):
    """The result of TCP Fast Open on a client connection, as its kernel reports it."""

    host: str
    opening: Opening
    start_ms: float


class FarEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Traffic of one direction to or from one address and port at the origin's end."""

    address: str
    port: int
    """The port; 0 if the packets have no port."""
    transport: Literal["tcp", "udp", "other"]
    packets: int
    """Packets that left the link. `bytes` counts the same packets, at layer 3."""
    bytes: int
    dropped: int = 0
    """Packets that the link dropped, for any reason."""
    first_drop_us: int | None = None
    """When the first dropped packet reached the link."""
    transit_min_ms: float | None = None
    """Least time in ms that a packet spent in the link; None if none left it."""
    early_packets: int | None = None
    """Packets in which clients' early data began. These are QUIC's 0-RTT packets, and TLS records
    sent before the server sent anything. Counted upstream; None in capsules older than the
    field."""
    first_early_us: int | None = None
    """When the first packet with early data reached the link."""
    ect0: int | None = None
    """Packets of `packets` that came as ECT(0); None in capsules older than the field."""
    ect1: int = 0
    """Packets that came as ECT(1)."""
    ce: int = 0
    """Packets that were marked before the link."""
    classic_ecn: int = 0
    """SYN/ACKs that agreed to ECN by RFC 3168."""
    accurate_ecn: int = 0
    """SYN/ACKs that agreed to AccECN (RFC 9768)."""


class HostLoss(Struct, frozen=True, kw_only=True):
    """Packets that one host's path lost."""

    address: str
    trials: int
    lost: int


class QueueReport(Struct, frozen=True, kw_only=True):
    """What one queue did, of a bottleneck with several queues."""

    queue: str
    """`classic` or `l4s`."""
    packets: int
    """Packets that went on to the line."""
    bytes: int
    """Bytes of these packets, as the network's accounting counts them."""
    marked: int
    dropped: int
    """Packets that the queue dropped, because it was full or for another reason."""
    wait_p50_ms: float
    wait_p99_ms: float
    wait_max_ms: float


class Timeline(Struct, frozen=True, kw_only=True):
    """Traffic of one direction over time, in slots of equal length."""

    start_us: int
    """When the first packet reached the link."""
    slot_us: int
    """Length of a slot. The link widens slots to keep their number small."""
    slots: tuple[tuple[int, int, int], ...]
    """The slots in which something happened, in order: index, layer 3 bytes that left the link, and
    packets that the link's queue dropped. Drops count in the slot of the packet's arrival."""


class Flights(Struct, frozen=True, kw_only=True):
    """How long packets took besides the bottleneck, over time: delay, and waits for a grant."""

    zero_us: int
    """Time 0 of what follows a clock: the first packet that reached the link."""
    slot_us: int
    """Length of a slot. The link widens slots to keep their number small."""
    slots: tuple[tuple[int, int, int], ...]
    """The slots in which a packet left the bottleneck, in order: index, least and most time in
    us."""


class DirectionReport(Counters, frozen=True, kw_only=True):
    """Traffic and state of one direction of the link during a visit. Bytes are layer 3."""

    packets_in: int
    bytes_in: int
    packets_out: int
    bytes_out: int
    queued: int
    """Packets that were still inside the link when the report was made."""
    largest_frame_bytes: int
    """Length in bytes of the longest Ethernet frame, header included. A length above MTU + 14 means
    super-packets."""
    ring_drops: int
    """Packets that the kernel dropped before the link could read them."""
    send_failures: int = 0
    """Packets that the kernel refused to send."""
    send_retries: int = 0
    """Number of times that the kernel refused a packet, which the link then sent again or gave
    up."""
    lost_before: int | None = None
    """Packets that the kernel dropped in silence between the sending end and the link, according to
    the counters of the link's interfaces; None if unknown, and in older capsules."""
    lost_behind: int | None = None
    """Packets that the kernel dropped in silence between the link and the other end; None if
    unknown, and in older capsules."""
    loss_trials: int | None = None
    """Packets that reached the loss stage; None in capsules older than the field."""
    loss_fates: str = ""
    """The fate of each of the first 16,384 packets at the loss stage, in runs by index: ``12+``
    passed, ``2-`` were lost, ``3.`` never reached it. Empty without random loss, and for bursts
    that follow time."""
    burst_trials: int | None = None
    """Packets that met the bad state of loss in bursts; None without loss in bursts."""
    burst_lost: int | None = None
    """Packets of `burst_trials` that were lost; None without loss in bursts."""
    burst_ms: float | None = None
    """Time in ms that the bad state lasted in total; None without loss in bursts, or if the chain
    steps with packets."""
    burst_watched_ms: float | None = None
    """Time in ms that the chain ran, from the link's first packet to the last packet that reached
    the loss stage; None without loss in bursts, or if the chain steps with packets."""
    host_loss: tuple[HostLoss, ...] = ()
    queues: tuple[QueueReport, ...] = ()
    """What each queue of a bottleneck with several did: DualPI2's classic and L4S."""
    ect1: int | None = None
    """Packets of `ect` that arrived as ECT(1), which scalable senders set; None in older
    capsules."""
    ce: int | None = None
    """Packets of `ect` that were marked before the link; None in older capsules."""
    ect: int | None = None
    """Packets sent on whose sender understands ECN (RFC 3168 section 5); None in capsules older
    than the field."""
    queue_p50_ms: float | None = None
    """Median time in ms that packets waited for the bottleneck; None if no packet passed a
    bottleneck."""
    queue_p99_ms: float | None = None
    queue_max_ms: float
    busy_ms: float
    """Time in ms in which the bottleneck was sending back to back, measured by when packets really
    left."""
    busy_bytes: int
    """Bytes, as the network's accounting counts them, that left during `busy_ms`."""
    line_ms: float | None = None
    """Time in ms that the bottleneck took to carry `line_bytes`, summed over packets, according to
    the link's own schedule; None in capsules older than the field."""
    line_bytes: int = 0
    """Bytes that the bottleneck carried in total, counted like `busy_bytes`."""
    transit_min_ms: float | None
    """Least time in ms that any packet actually spent in the link; None if no packet passed."""
    flight_min_ms: float | None = None
    """Least time in ms that a packet spent in the link without its wait for the bottleneck and its
    transmission, according to the link's own schedule. So this time shows the delay even if the
    bottleneck is never idle. None in capsules older than the field."""
    lateness_p50_us: float | None
    lateness_p99_us: float | None
    lateness_max_us: float | None
    far_ends: tuple[FarEnd, ...] | None = None
    """Traffic by address and port at the origin's end; None in capsules older than the field."""
    timeline: Timeline | None = None
    """Traffic over time; None if no packet came, and in older capsules."""
    flights: Flights | None = None
    """Flights over time; None unless the direction has a delay trace or grants."""

    @property
    def realised_mbps(self) -> float | None:
        """Rate in Mbit/s while the bottleneck was busy; None if it was hardly ever busy."""
        return self.busy_bytes * 8 / self.busy_ms / 1000 if self.busy_ms > 0 else None

    @property
    def met_loss(self) -> int:
        """Packets that reached the loss stage; in old capsules, all packets that came in."""
        return self.packets_in if self.loss_trials is None else self.loss_trials

    @property
    def realised_loss(self) -> float:
        """Share lost at random of the packets that reached the loss stage."""
        return self.dropped_loss / self.met_loss if self.met_loss else 0.0

    @property
    def drops(self) -> dict[str, int]:
        """Packets that the link dropped, by name of the cause."""
        return {count.cause: getattr(self, count.field) for count in DROPS}

    @property
    def dropped(self) -> int:
        """Packets that the link dropped, for any cause."""
        return sum(self.drops.values())


class Rebinding(Struct, frozen=True, kw_only=True):
    """What a NAT did after it had lost its mappings."""

    what: Rebound
    mappings: tuple[tuple[str, str], ...] = ()
    """Address and port of each UDP flow at the client, and as the origin sees it."""


class PhaseReport(Struct, frozen=True, kw_only=True):
    """What a link did between two of its changes. Times are only of packets that met no other
    link."""

    at_us: int
    """When it became this link."""
    down: DirectionReport
    up: DirectionReport
    rebinding: Rebinding | None = None
    """What the NAT at the client's end did since, if it lost its mappings then."""

    def direction(self, side: Side) -> DirectionReport:
        return self.down if side == "down" else self.up


class LinkReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    down: DirectionReport
    up: DirectionReport
    phases: tuple[PhaseReport, ...] = ()
    """Parts of the visit between changes of the link, the first from its start; none if the network
    has no steps."""
    record_missed: int = 0
    """Packets missing from the link's record because the record was full."""

    @property
    def dropped_mtu(self) -> int:
        """Packets of both directions that were longer than the MTU."""
        return self.down.dropped_mtu + self.up.dropped_mtu

    def direction(self, side: Side) -> DirectionReport:
        return self.down if side == "down" else self.up


class NamesReport(Struct, frozen=True, kw_only=True):
    """How the client resolved names during a visit."""

    lookups: tuple[NameLookup, ...]
    """Every query that reached the resolver, as it logged them."""
    path: LinkReport
    """Counters of the path to the resolver: `up` leads there."""


class HostReport(Struct, frozen=True, kw_only=True):
    """State and load of the machine during the visit."""

    wall_ms: float
    busy_share: float
    """Share of all cores' time that was not idle."""
    steal_share: float
    others_share: float | None = None
    """Share of all cores' time that was busy, but not with browser or server: links, dragstrip
    itself, other testbeds, and anything else on the machine; None if the browser's CPU time is
    unknown."""
    browser_cpu_s: float | None = None
    """CPU seconds of all the browser's processes; None if unknown."""
    origin_cpu_s: float | None = None
    """CPU seconds of the server, user and system time. A server that is not ours is observed from
    outside, without the origin behind it; threads that ended are missing. None if unknown, and for
    such servers in older evidence."""
    link_cpu_s: float | None = None
    """CPU seconds of the link; None if unknown, and in older evidence."""
    dragstrip_cpu_s: float | None = None
    """CPU seconds of the process that drives the visit; None if unknown, and in older evidence."""
    interrupts_share: float | None = None
    """Share of all cores' time that interrupts took, mostly for packets; None if unknown, and in
    older evidence."""
    outside_cpu_s: float | None = None
    """CPU seconds of everything outside this testbed: other testbeds, other programs, and what the
    hypervisor took. Kernels count CPU time in steps of 10 ms. None if unknown, and in older
    evidence."""
    browser_wait_ms: float | None = None
    """Longest time in ms that a browser thread waited for a CPU, ready to run; None if the kernel
    did not report it."""
    server_wait_ms: float | None = None
    """Longest time in ms that a server thread waited for a CPU, ready to run; None if the kernel
    did not report it."""
    clock_jump_ms: float | None = None
    """Time by which CLOCK_REALTIME advanced more than CLOCK_MONOTONIC_RAW, in ms."""
    precedence: bool | None = None
    """Whether browser and server got a CPU before ordinary processes, because the machine was busy
    (`dragstrip.testbed.precedence`); None in older evidence."""
    cpu_mhz: float | None = None
    """Frequency in MHz of the fastest CPU right after the visit; None if the machine does not
    report it."""
    cpu_limit_mhz: float | None = None
    """Lowest frequency limit in MHz of any CPU, before or after the visit: a hot machine lowers it.
    None if the machine does not report it."""
    throttled: int | None = None
    """How often a CPU was throttled for heat during the visit; None if the machine does not report
    it."""
    backlog_dropped: int | None = None
    """Packets of the whole machine that its kernel dropped because a CPU's backlog was full. The
    count covers all programs, so the verdict uses `DirectionReport.lost_before` instead. None in
    older evidence."""
    backlog_squeezed: int | None = None
    """How often the kernel stopped working on a backlog because its time was up; None in older
    evidence."""


class Overhead(Struct, frozen=True, kw_only=True):
    """Wall time in ms that a visit takes besides the page load."""

    prepare_ms: float
    """Time to reset link and origin and to open a browser context, until the navigation is sent."""
    before_navigation_ms: float
    """Time from sending the navigation to the browser's timeOrigin."""
    settle_ms: float
    """Time for which the visit continues after loadEventEnd (`Client.quiet_ms`)."""
    collect_ms: float
    """Time to read timings and logs and to close context and connections."""
    content_ms: float | None = None
    """Part of `collect_ms` for reading bodies back from the browser."""

    @property
    def total_ms(self) -> float:
        return self.prepare_ms + self.before_navigation_ms + self.settle_ms + self.collect_ms


class Visual(Struct, frozen=True, kw_only=True):
    """The visible progress of a load, from the browser's own frames (`dragstrip.visit.frames`)."""

    frames: int
    """Frames that the browser delivered, including the one before the navigation."""
    fvc_ms: float | None = None
    """Time in ms of the first visual change; None if the picture never changed."""
    lvc_ms: float | None = None
    """Time in ms of the last visual change; None if the picture never changed."""
    speed_index_ms: float | None = None
    progress: tuple[tuple[float, float], ...] = ()
    """Pairs (ms, visual completeness 0..1) for every change, in order of time."""
    final: bytes = b""
    """The last frame as a PNG thumbnail, to be compared between visits."""
    blind_ms: float | None = None
    """The longest time in ms in which frames may have been lost because we took them too slowly;
    None if not measured."""

    def complete_ms(self, share: float) -> float | None:
        """Return the time in ms at which the picture first reached this share of its final state;
        None if it never did."""
        return next((ms for ms, complete in self.progress if complete >= share), None)

    @property
    def vc85_ms(self) -> float | None:
        return self.complete_ms(0.85)


VisitKey = tuple[str, int, str]
"""Block, attempt and stack: the identity of a visit."""


class Visit(Struct, frozen=True, kw_only=True):
    """One page load with all its evidence: a line of the journal."""

    block: str
    """Id of the block, see `dragstrip.model.study.Block`."""
    attempt: int
    """Number of times that the block had been rerun before; 0 the first time."""
    position: int
    """Place within the shuffled block, from 0."""
    page: str
    network: str
    stack: str
    seed: int
    """Seed of the link's random stream, the same for the whole block."""
    connection: ConnectionMode = "first"
    """The browser's state: cold, or after a first load of the page."""
    clock: ClockKind = "real"
    """The clock of the visit's times, see `dragstrip.model.clock.Clock`."""
    machine: str = ""
    """Id of the machine that made the visit, see `dragstrip.results.machine.Machine`; empty if
    every machine gives the same results, and in older capsules."""
    testbed: str = ""
    """Id of the start of testbed, servers and browsers that made the visit: a digest of the
    machine's boot id, a dot, and the time of the start in ms. Empty if every start gives the same
    results, and in older capsules."""
    beside: int = 0
    """Most blocks that ran in parallel in other testbeds of this host during the visit; 0 if
    parallel blocks make no difference."""
    started_us: int
    outcome: Outcome
    error: str = ""
    """Why the load failed, in the browser's words. Of an incomplete load, the error of most objects
    that it lost."""
    done: str = AT_LOAD
    """Condition for the page to count as loaded, see `dragstrip.model.done`."""
    plt_ms: float | None = None
    """Page load time: from the navigation's start until the page counts as loaded, by default until
    loadEventEnd."""
    dcl_ms: float | None = None
    """Time of domContentLoadedEventEnd, in ms."""
    ttfb_ms: float | None = None
    """Time of the document's responseStart in ms, redirects included."""
    connect_to_response_ms: float | None = None
    """Time in ms from the document's connectStart to its responseStart: handshakes plus one
    request."""
    fcp_ms: float | None = None
    lcp_ms: float | None = None
    """Time in ms of the last largest-contentful-paint entry up to the end of the visit."""
    visual: Visual | None = None
    """Visual progress; None unless the client records frames."""
    documents: tuple[str, ...] = ()
    """URLs of the documents that the tab showed, in order. There are several if the page navigated
    away by itself. Then the load covers all of them, and times count from the start of the first;
    first byte, paints and load event are those of the last. Empty in older capsules, and for the
    load generator."""
    requests: tuple[Request, ...] = ()
    served: tuple[Served, ...] = ()
    sockets: tuple[Socket, ...] = ()
    """WebSockets that the browser opened. They are not among the requests."""
    served_sockets: tuple[ServedSocket, ...] = ()
    """WebSockets in the server's log."""
    background: tuple[BackgroundReport, ...] = ()
    """Traffic of the network's background loads."""
    known_misses: tuple[str, ...] = ()
    """Addresses (URLs without query) that the page requested in its rehearsal but that the
    recording lacks. The rehearsal is a load without emulation before the first visit."""
    known_aborts: tuple[str, ...] = ()
    """Addresses of requests that the page cancelled in its rehearsal."""
    rehearsed: tuple[int, ...] | None = None
    """Indices in the page's `resources` of the objects that every rehearsal fetched before the load
    event; None if there was no rehearsal."""
    primed: tuple[str, ...] | None = None
    """Hosts that answered in the load before a repeat visit; None if not recorded."""
    primed_quic: tuple[str, ...] | None = None
    """Hosts of `primed` that answered over HTTP/3, whose QUIC tickets the browser may have; None in
    capsules older than the field."""
    addresses: Mapping[str, str] = {}
    """``IP:PORT`` at which the testbed answers for each host; empty for live pages."""
    authority: str = ""
    """Issuer of the certificates of the testbed's servers; empty for live pages."""
    issuers: Mapping[str, str] = {}
    """Each issuer of a certificate that the browser accepted, with the first URL that it vouched
    for; empty if the browser does not report it."""
    cpu_slowdown: float | None = None
    """How many times longer a fixed script took in the page after its load than without the
    client's slow-down; None if the client is not slowed down, or if this was not measured."""
    browser: str = ""
    """Name, version and start mode of the browser that loaded the page, as the browser reports
    them; empty in capsules older than this field."""
    fast_open: tuple[FastOpen, ...] = ()
    """The result of TCP Fast Open on each connection; empty if the client does not use it."""
    graph: str = ""
    """Digest and source of the page's graph that the load generator followed; empty for a browser,
    which parses the page itself."""
    proxies: tuple[str, ...] = ()
    """Variables in the browser's environment that name a proxy."""
    connections: tuple[Connection, ...] = ()
    congestion: tuple[str, ...] = ()
    """Congestion control of the TCP connections that were open at the end, as the kernel reports
    it, if the server reports no transport state."""
    link: LinkReport | None = None
    names: NamesReport | None = None
    """How names were resolved; None if they were resolved at once, and in older capsules."""
    host: HostReport | None = None
    overhead: Overhead | None = None
    unchecked: tuple[str, ...] = ()
    """Checks that the verdict could not make, in words; a live page's servers report nothing."""
    unmeasured: tuple[str, ...] = ()
    """Quantities that the browser cannot measure, in words; their fields are empty."""
    reasons: tuple[Reason, ...] = field(default=())
    """Why the visit is not valid, as codes and evidence; empty if it is valid."""

    @property
    def id(self) -> str:
        return _id(self.block, self.stack, self.attempt)

    @property
    def file_name(self) -> str:
        """The stem of this visit's file names in the capsule, made from its id."""
        return file_name(self.block, self.stack, self.attempt)

    @property
    def valid(self) -> bool:
        return not self.reasons

    @property
    def key(self) -> VisitKey:
        return self.block, self.attempt, self.stack

    @property
    def cell(self) -> tuple[str, str, ConnectionMode]:
        """The visit's cell, in the form of `dragstrip.model.study.Block.cell`."""
        return self.page, self.network, self.connection

    @property
    def verdict(self) -> str:
        """``valid``, or the codes of the reasons joined by commas."""
        return ",".join(dict.fromkeys(r.code for r in self.reasons)) or "valid"

    @property
    def protocol_share(self) -> dict[str, float]:
        """Share of answered requests per protocol."""
        answered = [r.protocol for r in self.requests if r.protocol]
        return {p: answered.count(p) / len(answered) for p in dict.fromkeys(answered)}

    @property
    def wire_bytes(self) -> int:
        return sum(r.wire_bytes for r in self.requests)

    @property
    def beside_ids(self) -> frozenset[int]:
        """Connections that only WebSockets needed. Either they carried a WebSocket, or they lead to
        its host over a protocol that no request used: Firefox first opens an HTTP/2 connection to
        ask whether the host supports WebSockets there."""
        sockets = {s.connection for s in self.served_sockets}
        hosts = {s.host for s in self.served_sockets}
        spoken = {s.protocol for s in self.served}
        asked = {c.id for c in self.connections if c.host in hosts and c.protocol not in spoken}
        return frozenset((sockets | asked) - {s.connection for s in self.served})


OF_BROWSERS = "netlog"
"""The folder in a capsule for files of a whole browser, which are complete when the browser
ends."""


def file_name(block: str, stack: str, attempt: int) -> str:
    """Return the stem of a visit's file names, see `Visit.file_name`."""
    return _id(block, stack, attempt).replace("/", "_").replace("|", "-")


def _id(block: str, stack: str, attempt: int) -> str:
    return f"{block}|{stack}|{attempt}"


BlockVisits = Mapping[str, Visit]
"""The visits of one block by stack."""

StopRule = Callable[[Sequence[BlockVisits]], bool]
"""Decides from a cell's valid blocks, ordered by index, whether the cell stops."""
