"""Simulated visits that look like real ones: a toy browser on a toy link, seeded.

Only for developing and testing results, statistics and report; no number in here is a measurement.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.model.page import Page, Resource
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Block, Client, Study
from dragstrip.model.visit import (
    DirectionReport,
    HostReport,
    LinkReport,
    Overhead,
    Reason,
    Request,
    Served,
    Visit,
)
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import Manifest, Start
from dragstrip.verdict.rules import VERSION

EPOCH_US = 1_760_000_000_000_000
HOSTILE = "https://cdn.demo.test/a?x=<script>alert('url')</script>&y=%22%3E"
STACKS = (
    Stack(name="h1", protocol="h1", source="the stock one"),
    Stack(name="h2", protocol="h2", source="the stock one"),
    Stack(name="h3", protocol="h3", source="the stock one"),
)
_KINDS = (
    ("Stylesheet", "text/css", ".css", 18_000),
    ("Script", "text/javascript", ".js", 42_000),
    ("Image", "image/webp", ".webp", 24_000),
    ("Font", "font/woff2", ".woff2", 30_000),
    ("Image", "image/jpeg", ".jpg", 31_000),
)


def page(name: str = "demo", resources: int = 70, hosts: int = 4) -> Page:
    draw = random.Random(name)
    names = [f"www.{name}.test", f"cdn.{name}.test", f"fonts.{name}.test"]
    names += [f"ads{i}.partner.test" for i in range(hosts)]
    found = [_resource(f"https://{names[0]}/", "text/html", 28_000)]
    for i in range(1, resources - 1):
        _, mime, suffix, size = _KINDS[min(i // 5, draw.randrange(5))]
        host = draw.choice(names[:hosts])
        url = f"https://{host}/assets/{draw.getrandbits(24):06x}/{i:03d}{suffix}"
        found.append(_resource(url, mime, int(size * draw.lognormvariate(-0.3, 0.7))))
    found.append(_resource(HOSTILE, "image/webp", 900))
    return Page(
        name=name,
        path=Path(f"pages/{name}.har.zip"),
        url=found[0].url,
        resources=tuple(found),
        source="simulated for the tests",
        changes=("3 http:// addresses are served as https://",),
        digest=f"{draw.getrandbits(48):012x}",
    )


def _resource(url: str, mime: str, size: int) -> Resource:
    return Resource(url=url, method="GET", status=200, mime=mime, body_bytes=size)


def study(
    *, pages: tuple[Page, ...] = (), networks: tuple[str, ...] = ("LTE",), runs: int = 10
) -> Study:
    known = {
        "LTE": Network.parse("10.5mbit/2.8mbit/37ms/0%/200ms"),
        "DA2GC": Network.parse("0.468mbit/0.468mbit/131ms/3.3%/200ms"),
    }
    return Study(
        name="simulated race",
        pages=pages or (page(),),
        networks=tuple(
            Network(name=n, down=known[n].down, up=known[n].up, source="wolsing2019, table 2")
            for n in networks
        ),
        stacks=STACKS,
        runs=runs,
        seed=20_26,
        client=Client(timeout_s=180),
    )


def manifest(of: Study) -> Manifest:
    machine = Machine(
        kernel="6.1.0-32-amd64",
        cpu="Simulated CPU @ 2.50GHz",
        cores=2,
        memory_mb=7937,
        python="3.11.2",
    )
    start = Start(
        started="2026-03-01T12:00:00+00:00",
        finished="2026-03-01T12:09:30+00:00",
        command=("dragstrip", "race", "demo", "--network", "LTE", "--runs", str(of.runs)),
        dragstrip_version="0.1.0",
        rules=VERSION,
        git="0123456789ab",
        browser_version="HeadlessChrome/156.0.0.0",
        machine=machine,
    )
    return Manifest(study=of, starts=(start,))


def visits(of: Study, *, invalid: float = 0.06, timeouts: float = 0.02) -> Iterator[Visit]:
    """Every attempt at every block; `invalid` and `timeouts` are probabilities per visit."""
    for block in of.blocks():
        for attempt in range(of.reruns + 1):
            draw = random.Random(f"{block.id}:{attempt}")
            made = [
                _visit(of, block, attempt, place, invalid, timeouts, draw)
                for place in range(len(block.order))
            ]
            yield from made
            if all(v.valid for v in made):
                break


def _visit(
    of: Study,
    block: Block,
    attempt: int,
    place: int,
    invalid: float,
    timeouts: float,
    draw: random.Random,
) -> Visit:
    stack, network = of.stack(block.order[place]), of.network(block.network)
    noise = 0.012 if network.two_way_loss == 0 else 0.12
    slowness = draw.lognormvariate(0, noise) * {"h1": 1.16, "h2": 1.0, "h3": 0.93}[stack.protocol]
    requests = load(of.page(block.page), network, stack.protocol, slowness)
    timed_out = draw.random() < timeouts
    reasons: tuple[Reason, ...] = ()
    if draw.random() < invalid:
        reasons = (_REASONS[draw.randrange(len(_REASONS))],)
    if reasons and reasons[0].code == "mixed":
        requests[3] = _as(requests[3], "h2" if stack.protocol != "h2" else "h1")
    end = max(r.end_ms or 0 for r in requests) + 20
    document = requests[0]
    assert document.response_start_ms is not None
    assert document.connect_start_ms is not None
    return Visit(
        block=block.id,
        attempt=attempt,
        position=place,
        page=block.page,
        network=block.network,
        stack=stack.name,
        seed=block.seed,
        started_us=EPOCH_US + block.index * 30_000_000 + attempt * 9_000_000 + place * 3_000_000,
        outcome="timeout" if timed_out else "loaded",
        error="no load event within 180 s" if timed_out else "",
        plt_ms=None if timed_out else end,
        dcl_ms=end * 0.6,
        ttfb_ms=document.response_start_ms,
        connect_to_response_ms=document.response_start_ms - document.connect_start_ms,
        fcp_ms=end * 0.45 * draw.lognormvariate(0, 0.02),
        requests=tuple(requests),
        served=tuple(_served(r) for r in requests[:-1]),
        link=_link(network, requests, end, draw),
        host=HostReport(wall_ms=end + 400, busy_share=draw.uniform(0.2, 0.4), steal_share=0.001),
        overhead=Overhead(
            prepare_ms=draw.uniform(90, 130),
            before_navigation_ms=draw.uniform(4, 9),
            settle_ms=100,
            collect_ms=draw.uniform(60, 110),
        ),
        reasons=reasons,
    )


_REASONS = (
    Reason("mixed", "1 of 70 requests used another protocol: https://cdn.demo.test/<b>x</b>.js"),
    Reason("overloaded", "packets left 4.1 ms late at p99, 1.5 ms are allowed (2 % of 74 ms)"),
    Reason("link-drift", "down: realised rate 9.1 Mbit/s, asked for 10.5 Mbit/s (13 % off)"),
)


def load(of: Page, network: Network, protocol: Protocol, slowness: float) -> list[Request]:
    """One load: connections cost round trips, the bottleneck serves one answer after another."""
    rtt, rate = max(network.rtt_ms, 1), network.down.rate_mbps or 1000
    lanes: dict[str, list[float]] = {}
    free, done, requests = 0.0, 0.0, []
    for i, resource in enumerate(of.resources):
        start = 2.0 if i == 0 else done + (5 + i * 1.5) * slowness + (60 if i > 25 else 0)
        opened = lanes.setdefault(resource.host, [])
        limit = 6 if protocol == "h1" else 1
        new = len(opened) < limit
        handshake = (rtt if protocol == "h3" else 2 * rtt) if new else 0.0
        if new:
            opened.append(start + handshake)
        lane = len(opened) - 1 if new else opened.index(min(opened))
        sent = (
            max(start + 1, opened[lane]) if protocol == "h1" or new else max(start + 1, opened[0])
        )
        first = sent + (rtt + 3) * slowness
        free = max(free, first) + resource.body_bytes * 8 / rate / 1000 * slowness
        if protocol == "h1":
            opened[lane] = free
        if i == 0:
            done = first
        requests.append(
            Request(
                url=resource.url,
                host=resource.host,
                protocol=protocol,
                status=200,
                mime=resource.mime,
                resource_type="Document" if i == 0 else "Image",
                connection=list(lanes).index(resource.host) * 10 + lane + 1,
                reused=not new,
                remote_ip="10.0.0.2",
                wire_bytes=resource.body_bytes + 240,
                start_ms=start,
                connect_start_ms=sent - handshake - 0.5 if new else None,
                tls_start_ms=sent - (rtt if protocol != "h3" else handshake) - 0.5 if new else None,
                connect_end_ms=sent - 0.5 if new else None,
                send_start_ms=sent,
                send_end_ms=sent + 0.2,
                response_start_ms=first,
                end_ms=free,
            )
        )
    last = requests[-1]
    requests[-1] = Request(
        url=last.url,
        host=last.host,
        protocol=None,
        error="net::ERR_ABORTED <i>",
        start_ms=last.start_ms,
    )
    return requests


def _as(request: Request, protocol: Protocol) -> Request:
    return structs.replace(request, protocol=protocol)


def _served(request: Request) -> Served:
    assert request.protocol is not None
    return Served(
        t_us=EPOCH_US + int((request.send_end_ms or 0) * 1000),
        end_us=EPOCH_US + int((request.end_ms or 0) * 1000),
        host=request.host,
        method="GET",
        url=request.url,
        protocol=request.protocol,
        connection=request.connection,
        client_port=40_000 + request.connection,
        resumed=False,
        early=False,
        status=200,
        body_bytes=request.wire_bytes,
        match="exact",
    )


def _link(
    network: Network, requests: list[Request], end_ms: float, draw: random.Random
) -> LinkReport:
    def side(down: bool) -> DirectionReport:
        asked = network.down if down else network.up
        size = sum(r.wire_bytes for r in requests) if down else 60 * len(requests)
        packets = max(size // 1400, 1) * (1 if down else 3)
        lost = sum(draw.random() < asked.loss for _ in range(packets))
        busy_ms = size * 8 / (asked.rate_mbps or 1000) / 1000
        return DirectionReport(
            packets_in=packets,
            bytes_in=size,
            packets_out=packets - lost,
            bytes_out=size,
            dropped_loss=lost,
            dropped_queue=0,
            queued=0,
            largest_frame_bytes=1514,
            ring_drops=0,
            queue_max_ms=draw.uniform(20, 150),
            busy_ms=busy_ms * draw.uniform(0.997, 1.003),
            busy_bytes=size,
            transit_min_ms=asked.delay_ms + 0.4,
            lateness_p50_us=draw.uniform(15, 40),
            lateness_p99_us=draw.uniform(120, 400),
            lateness_max_us=draw.uniform(500, 1500),
        )

    return LinkReport(down=side(True), up=side(False))
