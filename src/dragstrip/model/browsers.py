"""The browsers that a stack can use: the protocols that each browser speaks, and what it cannot do
or report."""

from collections.abc import Mapping

from msgspec import Struct, structs

from dragstrip.model.names import Transport


class Browser(Struct, frozen=True, kw_only=True):
    what: str
    """Description of the browser, for use within a sentence."""
    speaks: tuple[str, ...]
    """The protocols that the browser can be forced to use."""
    switched_on: Mapping[str, str] = {}
    """Features that dragstrip switched on or forced in the browser, by protocol."""
    newest_tls: str = "1.3"
    accepts: tuple[str, ...] = ("gzip", "br", "zstd")
    """Content codings that the browser accepts over https."""
    certificate_compression: tuple[str, ...] = ()
    """Compressions of certificates that the browser reads (RFC 8879)."""
    refuses_silently: bool = False
    """Whether the browser reports a request that failed on a bad certificate as if a script had
    cancelled it."""
    frames: bool = True
    """Whether the browser can record frames."""
    main_thread: bool = False
    """Whether the browser can record what the page's main thread does."""
    slows_down: bool = False
    """Whether the browser can slow down the first threads of its pages."""
    load_event_only: bool = False
    """Whether the browser can wait only for a page's load event (`dragstrip.model.done`)."""
    asks: tuple[Transport, ...] = ()
    """Ways in which the browser can ask a testbed's resolver for names."""
    https_records: bool = False
    """Whether the browser asks for HTTPS records (RFC 9460)."""
    testbeds_only: bool = False
    """Whether the browser resolves names only by the testbed's hosts file."""
    in_guests: bool = True
    """Whether the browser runs in virtual time."""
    steady: bool = True
    """Whether the browser's loads hardly differ between blocks in virtual time."""
    stamps_early_late: bool = False
    """Whether the browser timestamps a QUIC early-data request after the handshake."""
    packets_per_ack: int | None = None
    """Packets of a long QUIC answer per acknowledgement, unless the server requests another number;
    None if unknown."""
    drain_rtts: float = 0.0
    """Round trips for which the browser keeps a QUIC connection after the server closed it. A load
    that begins sooner waits, so repeat visits begin later."""
    quic_timeouts: bool = False
    """Whether a stack decides how long the browser waits over QUIC for a handshake, and on an idle
    connection."""
    fast_open: bool = False
    """Whether the browser can send data with TCP's SYN (RFC 7413). No current browser can."""
    early_hints: bool = False
    """Whether the browser fetches the resources that an answer with status 103 names (RFC 8297),
    and reports that answer."""
    follows_graphs: bool = False
    """Whether this is the load generator, which follows a page's graph and parses nothing. Its
    visits are predictions of a browser's visits."""
    cannot_tell: tuple[str, ...] = ()
    """Quantities that the browser does not measure, in words."""


TODAY = "chromium-headless-shell"
CHROMIUM = "chromium"
FIREFOX = "firefox"
LOADER = "loader"
WPE = "wpe"

_CHROMIUM_ACKNOWLEDGES = 10
"""Packets per acknowledgement that Chromium uses after the first hundred packets (quiche,
`QuicReceivedPacketManager`)."""
_NO_LCP = "largest contentful paint (Chromium measures it since version 77)"
_BEFORE_ZSTD = ("gzip", "br")
"""Content codings of browsers without zstd. Chromium accepts zstd since version 123, Firefox since
126."""
_Q043 = {"gquic": "gQUIC forced for every host, in version Q043 and no other"}

BROWSERS: Mapping[str, Browser] = {
    TODAY: Browser(
        what="today's Chromium",
        speaks=("h1", "h2", "h3"),
        quic_timeouts=True,
        packets_per_ack=_CHROMIUM_ACKNOWLEDGES,
        early_hints=True,
        main_thread=True,
        slows_down=True,
        certificate_compression=("brotli",),
        asks=("udp",),
    ),
    CHROMIUM: Browser(
        what="today's Chromium, the whole browser",
        speaks=("h1", "h2", "h3"),
        quic_timeouts=True,
        packets_per_ack=_CHROMIUM_ACKNOWLEDGES,
        early_hints=True,
        main_thread=True,
        slows_down=True,
        certificate_compression=("brotli",),
        asks=("udp", "doh"),
        https_records=True,
    ),
    FIREFOX: Browser(
        what="Firefox",
        speaks=("h1", "h2", "h3"),
        frames=False,
        asks=("udp", "doh"),
        https_records=True,
        testbeds_only=True,
        steady=False,
        stamps_early_late=True,
        certificate_compression=("zlib", "brotli"),
        drain_rtts=9.0,  # three PTOs (RFC 9000 section 10.2), each of srtt + 4 srtt / 2 at most
        cannot_tell=(
            "the connection of each request (WebDriver BiDi does not number them)",
            "the first byte of an answer over HTTP/1.1 and TLS (Firefox takes the server's session "
            "ticket for it)",
            "the size of text that crossed the wire in a content coding",
            "when a QUIC early-data request left (Firefox reports the handshake's end)",
            "bytes of headers on the wire (WebDriver BiDi counts them before compression)",
        ),
    ),
    WPE: Browser(
        what="WPE WebKit, whose network stack is libsoup's and not Safari's",
        speaks=("h1", "h2"),
        frames=False,
        testbeds_only=True,
        load_event_only=True,
        in_guests=False,
        switched_on=dict.fromkeys(
            ("h1", "h2"), "X25519 before P-256, which is this browser's first choice"
        ),
        cannot_tell=(
            "times of the page in fractions of a millisecond (WebKit rounds them)",
            "the connection of a request that failed (WebKit names it at the end)",
        ),
    ),
    LOADER: Browser(
        what="the load generator, which predicts Chromium",
        speaks=("h1", "h2", "h3"),
        frames=False,
        testbeds_only=True,
        load_event_only=True,
        fast_open=True,
        packets_per_ack=_CHROMIUM_ACKNOWLEDGES,
        early_hints=True,
        follows_graphs=True,
        certificate_compression=("brotli", "zlib"),
        cannot_tell=(
            "first contentful paint (the load generator paints nothing)",
            "largest contentful paint (the load generator paints nothing)",
        ),
    ),
    "chromium53": Browser(
        what="Chromium 53 of August 2016",
        speaks=("h1", "h2", "spdy"),
        switched_on={"spdy": "SPDY/3.1 switched on, which is off by default since version 51"},
        newest_tls="1.2",
        accepts=_BEFORE_ZSTD,
        refuses_silently=True,
        frames=False,
        load_event_only=True,
        testbeds_only=True,
        cannot_tell=(
            "whether the browser used SPDY or HTTP/2 (its DevTools call both spdy)",
            "first contentful paint (Chromium measures it since version 60)",
            _NO_LCP,
        ),
    ),
    "chromium70": Browser(
        what="Chromium 70 of August 2018",
        speaks=("h1", "h2", "gquic"),
        switched_on=_Q043,
        accepts=_BEFORE_ZSTD,
        slows_down=True,
        cannot_tell=(_NO_LCP,),
    ),
    "chromium78": Browser(
        what="Chromium 78 of August 2019",
        speaks=("h1", "h2", "gquic"),
        switched_on=_Q043,
        accepts=_BEFORE_ZSTD,
        slows_down=True,
    ),
}


def is_path(name: str) -> bool:
    """Return whether the name is the path of the user's own Chromium."""
    return "/" in name


def find_browser(name: str) -> Browser:
    """Find a browser by name, or by the absolute path of a Chromium. Raises `ValueError`."""
    if is_path(name):
        return structs.replace(BROWSERS[CHROMIUM], what=f"the Chromium at {name}")
    if name not in BROWSERS:
        raise ValueError(
            f"unknown browser {name!r}; choose from {', '.join(BROWSERS)}, or give the path of a "
            "Chromium"
        )
    return BROWSERS[name]
