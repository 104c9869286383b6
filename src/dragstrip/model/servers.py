"""What servers that are not ours have and cannot change, by transport.

Caddy 2.6 with quic-go 0.29: quic-go's sender is NewReno with a window of 32 packets, paced; it
begins with 1252 bytes of UDP payload. Go's net/http2 obeys RFC 7540's priorities and quic-go none,
so nobody obeys RFC 9218's. TCP is the kernel's and so the stack's to choose, but for what needs an
option of the server's own socket.

gquic-origin is a server of ours with quic-go 0.10: CUBIC that counts for two connections as
Chromium's did, paced at two windows a round trip, 32 packets of 1460 bytes at the start. So that it
can be measured beside other servers it speaks HTTP/2 as well, with Go's net/http2, which here sends
all streams in turn.

node-spdy and netty are servers of ours with those libraries' codecs. node-spdy obeys the
priorities of SPDY and of RFC 7540, Netty those of RFC 7540; neither those of RFC 9218. The JDK,
which is Netty's TLS here, gives tickets to all its clients.
"""

from collections.abc import Mapping
from typing import Literal

Server = Literal["dragstrip-origin", "caddy", "gquic-origin", "node-spdy", "netty"]

Records = int | Literal["dynamic"]
"""Plaintext bytes of a TLS record at most, or sizes that grow from one packet to 16384 bytes."""

RECORDS: Mapping[Server, Records] = {
    "dragstrip-origin": 16384,
    "caddy": "dynamic",
    "gquic-origin": "dynamic",
    "node-spdy": 16384,
    "netty": 16384,
}
"""What each server sends unless a stack says otherwise. Ours does as nginx (`ssl_buffer_size` 16k)
and OpenSSL do. Go grows from one packet, a packet more with each record, up to 128 kB of a
connection (crypto/tls, `maxPayloadSizeForWrite`); OpenSSL (Node) and the JDK (Netty) fill records
up to 16384 bytes."""

MAKE: Mapping[Server, Mapping[str, str]] = {
    "dragstrip-origin": {"server's TLS": "rustls", "order of streams": "RFC 9218, where obeyed"},
    "caddy": {"server's TLS": "Go's", "order of streams": "RFC 7540 (h2)"},
    "gquic-origin": {"server's TLS": "quic-go's QUIC Crypto, Go's", "order of streams": "none"},
    "node-spdy": {"server's TLS": "OpenSSL", "order of streams": "SPDY's, RFC 7540 (h2)"},
    "netty": {"server's TLS": "the JDK's", "order of streams": "none of SPDY's, RFC 7540 (h2)"},
}
"""What comes with a server and no stack can choose: between servers it cannot be matched."""

_TLS_1_2 = {"pacing": False, "early_data": False, "priorities": False, "tls": "1.2"}
FIXED: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("caddy", "tcp"): {"pacing": False, "early_data": False, "priorities": False},
    ("caddy", "quic"): {
        "congestion": "reno",
        "initial_window_packets": 32,
        "pacing": True,
        "udp_payload_bytes": 1252,
        "flow_window_bytes": 512 * 2**10,
        "ack_every_packets": None,
        "resumption": True,
        "early_data": True,
        "priorities": False,
        "discovery": "direct",
    },
    ("node-spdy", "tcp"): _TLS_1_2,
    ("netty", "tcp"): {**_TLS_1_2, "resumption": True},
    ("gquic-origin", "tcp"): {**_TLS_1_2, "resumption": True},
    ("gquic-origin", "quic"): {
        "congestion": "cubic",
        "initial_window_packets": 32,
        "pacing": True,
        "udp_payload_bytes": 1252,
        "flow_window_bytes": 2**20,
        "ack_every_packets": None,
        "tls": "quic-crypto",
        "resumption": True,
        "early_data": True,
        "priorities": False,
        "discovery": "direct",
    },
}

_CONTENT = {"content": "the hash of the bodies it sent; known is what the origin gave to it"}
_CADDY_UNTOLD = {
    **_CONTENT,
    "idle": "connections that carried no request",
    "transport": "the transport's state",
    "cpu": "the server's CPU time",
}
_NO_TRANSPORT = {"transport": "the transport's state"}
UNTOLD: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("caddy", "tcp"): _CADDY_UNTOLD,
    ("caddy", "quic"): {**_CADDY_UNTOLD, "handshakes": "resumed sessions and 0-RTT"},
    ("node-spdy", "tcp"): {**_CONTENT, **_NO_TRANSPORT},
    ("netty", "tcp"): {**_CONTENT, **_NO_TRANSPORT},
    ("gquic-origin", "tcp"): _NO_TRANSPORT,
    ("gquic-origin", "quic"): _NO_TRANSPORT,
}
"""What no log of theirs says, in words, by what the verdict would need it for."""
