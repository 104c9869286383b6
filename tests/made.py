"""A believable visit to build lies upon: three requests on LTE, with evidence that agrees."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.model.page import Page, Resource, digest_of
from dragstrip.model.stack import QUIC_ONLY, Protocol, Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import (
    Connection,
    DirectionReport,
    FarEnd,
    HostReport,
    LinkReport,
    Offer,
    Request,
    Served,
    Transport,
    Visit,
)
from dragstrip.results.tables.build import frames

LTE = Network.parse("10.5mbit/2.8mbit/37ms/0%/200ms")
STACKS = {p: Stack(name=p, protocol=p) for p in ("h1", "h2", "h3")}
PLACE = "10.64.1.1:443"
"""Where a.test answers."""
AUTHORITY = "dragstrip CA 123456789"
PAGE = Page(
    name="made",
    path=Path("made.har.zip"),
    url="https://a.test/",
    resources=tuple(
        Resource(
            url=url,
            method="GET",
            status=200,
            mime="",
            body_bytes=20_000,
            decoded_bytes=30_000,
            digest=digest_of(url.encode()),
        )
        for url in ("https://a.test/", "https://a.test/1.js", "https://a.test/2.png")
    ),
    source="made up",
    digest="0" * 12,
)


def study(runs: int = 3, pages: tuple[str, ...] = ("made",), seed: int = 1) -> Study:
    return Study(
        name="made",
        pages=tuple(structs.replace(PAGE, name=name) for name in pages),
        networks=(structs.replace(LTE, name="LTE"),),
        stacks=tuple(STACKS.values()),
        runs=runs,
        seed=seed,
    )


def table(of: Study, visits: Iterable[Visit]) -> pl.LazyFrame:
    """The table of visits, as `dragstrip.results.tables.build.scan` makes it for a capsule."""
    return frames(visits, of)["visits"].with_row_index("row").lazy()


def request(url: str, protocol: Protocol, start_ms: float, *, connects: bool = False) -> Request:
    sent = start_ms + (160.0 if connects else 1.0)
    return Request(
        url=url,
        host="a.test",
        protocol=protocol,
        status=200,
        resource_type="Document" if connects else "Image",
        connection=1,
        remote_ip="10.64.1.1",
        remote_port=443,
        wire_bytes=20_000,
        body_bytes=30_000,
        digest=digest_of(url.encode()),
        start_ms=start_ms,
        connect_start_ms=start_ms if connects else None,
        connect_end_ms=sent if connects else None,
        send_start_ms=sent,
        send_end_ms=sent,
        response_start_ms=sent + 76,
        end_ms=sent + 95,
    )


def served(url: str, protocol: Protocol, **changes: object) -> Served:
    line = Served(
        t_us=1_000_200_000,
        end_us=1_000_300_000,
        host="a.test",
        method="GET",
        url=url,
        protocol=protocol,
        connection=1,
        client_port=4000,
        resumed=False,
        early=False,
        status=200,
        body_bytes=20_000,
        match="exact",
        digest=digest_of(url.encode()),
    )
    return structs.replace(line, **changes)


def far_end(**changes: object) -> FarEnd:
    """The only host of the page."""
    end = FarEnd(
        address="10.64.1.1", port=443, transport="tcp", packets=1200, bytes=99_000_000, dropped=0
    )
    return structs.replace(end, **changes)


def direction(**changes: object) -> DirectionReport:
    report = DirectionReport(
        packets_in=1200,
        bytes_in=100_000,
        packets_out=1200,
        bytes_out=100_000,
        dropped_loss=0,
        dropped_queue=0,
        queued=0,
        largest_frame_bytes=1514,
        ring_drops=0,
        queue_max_ms=20.0,
        busy_ms=0.0,
        busy_bytes=0,
        transit_min_ms=37.1,
        lateness_p50_us=10.0,
        lateness_p99_us=100.0,
        lateness_max_us=900.0,
        far_ends=(far_end(),),
    )
    return structs.replace(report, **changes)


def transport(stack: Stack, **changes: object) -> Transport:
    """What the origin reports of a connection that is as the stack wants it."""
    told = Transport(
        congestion=stack.congestion,
        slow_start_exit=stack.slow_start_exit if stack.congestion == "cubic" else None,
        initial_window_packets=stack.initial_window_packets,
        paced=stack.paced,
        packet_bytes=stack.udp_payload_bytes if stack.protocol == "h3" else 1448,
        unsent_bytes=stack.unsent_bytes if stack.transport == "tcp" else None,
        offer=None if stack.protocol == "h1" else offer(stack),
        **_records(stack),
    )
    return structs.replace(told, **changes)


def offer(stack: Stack, **changes: int) -> Offer:
    """What the origin lets the client do, as the stack wants it."""
    window = stack.flow_window_bytes
    told = Offer(window_bytes=window, stream_window_bytes=window, streams=stack.streams_at_once)
    return structs.replace(told, **changes)


def _records(stack: Stack) -> dict[str, int]:
    if stack.record is None:
        return {}
    largest = 16384 if stack.record == "dynamic" else stack.record
    return {
        "tls_records": 50,
        "tls_early_record_bytes": min(1369, largest),
        "tls_largest_record_bytes": largest,
    }


def visit(protocol: Protocol = "h2", **changes: object) -> Visit:
    urls = [r.url for r in PAGE.resources]
    good = Visit(
        block="made|LTE|0",
        attempt=0,
        position=0,
        page="made",
        network="LTE",
        stack=protocol,
        seed=1,
        started_us=1_000_000_000,
        outcome="loaded",
        plt_ms=900.0,
        dcl_ms=500.0,
        ttfb_ms=236.0,
        connect_to_response_ms=236.0,
        requests=(
            request(urls[0], protocol, 0.0, connects=True),
            request(urls[1], protocol, 300.0),
            request(urls[2], protocol, 300.0),
        ),
        served=(
            served(urls[0], protocol, t_us=1_000_198_000),
            served(urls[1], protocol, t_us=1_000_339_000),
            served(urls[2], protocol, t_us=1_000_339_000),
        ),
        connections=(
            Connection(
                id=1,
                protocol=protocol,
                host="a.test",
                client_port=4000,
                t_us=1_000_100_000,
                transport=transport(STACKS[protocol]),
            ),
        ),
        rehearsed=(0, 1, 2),
        addresses={"a.test": PLACE},
        authority=AUTHORITY,
        issuers={AUTHORITY: PAGE.url},
        link=LinkReport(down=direction(), up=direction()),
        host=HostReport(
            wall_ms=1000,
            busy_share=0.3,
            steal_share=0.0,
            others_share=0.07,
            link_cpu_s=0.02,
            dragstrip_cpu_s=0.02,
            interrupts_share=0.01,
            outside_cpu_s=0.01,
            browser_wait_ms=3.0,
            server_wait_ms=1.0,
            clock_jump_ms=0.01,
        ),
    )
    return structs.replace(good, **changes)


CHANGED = {
    "congestion": "reno",
    "initial_window_packets": 11,
    "pacing": True,
    "ecn": True,
    "slow_start_exit": "none",
    "slow_start_after_idle": False,
    "buffer_bytes": 1,
    "receive_window_packets": 1,
    "fast_open": True,
    "tls_record": 4096,
    "udp_payload_bytes": 1300,
    "udp_start_bytes": 1200,
    "flow_window_bytes": 2**20,
    "streams_at_once": 100,
    "unsent_bytes": 16384,
    "interleave_bytes": 16375,
    "ack_every_packets": 4,
    "migration": True,
    "handshake_timeout_s": 60,
    "idle_timeout_s": 120,
    "qpack_table_bytes": 256,
    "tls": "1.2",
    "resumption": False,
    "early_data": True,
    "post_quantum": False,
    "key_share": "X25519MLKEM768",
    "certificate": "rsa",
    "chain_length": 3,
    "certificate_bytes": 4000,
    "scts": 2,
    "staple_bytes": 500,
    "certificate_compression": "brotli",
    "retry": True,
    "ech": "keys",
    "compress": "gzip:6",
    "priorities": False,
    "early_hints": "blocking",
    "websockets": "same",
    "discovery": "alt-svc",
    "hold_rtts": 1,
    "browser": "chromium70",
}
"""A value unlike the default for each field of a stack that may differ between any two."""


def plain_stack(field: str) -> Stack:
    """A stack whose protocol and client use the field."""
    quic = field in QUIC_ONLY
    client = {"browser": "loader"} if field in ("fast_open", "post_quantum") else {}
    if field == "ech":
        go = {"server": "quic-go", "pacing": False, "priorities": False}
        return Stack(name="plain", protocol="h2", browser="chromium", **go)
    return Stack(name="plain", protocol="h3" if quic else "h2", **client)
