"""Lies told by rewriting what was measured, each as far as its limit allows and just beyond.

They are built upon any believable visit: a made-up one in tests/unit, real ones in tests/browser.
"""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urldefrag

import msgspec
from msgspec import structs
from PIL import Image

from dragstrip.model.aqm import Aqm, Codel, DualPi2
from dragstrip.model.effects import Grant, Side
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.trace import DelayTrace
from dragstrip.model.visit import FarEnd, Flights, QueueReport, Reason, ReasonCode, Visit, Visual
from dragstrip.verdict.clock_checks import offset_ms
from dragstrip.verdict.judge import judge
from dragstrip.verdict.link_checks import loss_interval
from dragstrip.verdict.picture import like_reference, watched
from dragstrip.visit.frames import THUMBNAIL
from dragstrip.visit.ideal import needed_ms
from dragstrip.visit.physics import connect_rtts, floor_ms

EPSILON = 0.01
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)


@dataclass(frozen=True)
class Scene:
    """A visit and what was asked of it."""

    visit: Visit
    page: Page
    network: Network
    stack: Stack
    limits: Thresholds = field(default_factory=Thresholds)
    reference: bytes = b""
    slowdown: float = 1.0

    def reasons(self) -> tuple[Reason, ...]:
        judged = judge(
            self.visit,
            self.page,
            self.network,
            self.stack,
            self.limits,
            slowdown=self.slowdown,
        )
        pictures = like_reference(self.visit, self.reference, self.limits)
        return (*judged, *pictures, *watched(self.visit, self.limits))

    def codes(self) -> set[str]:
        return {r.code for r in self.reasons()}

    def but(self, **changes: object) -> "Scene":
        return replace(self, visit=structs.replace(self.visit, **changes))

    def host(self, **changes: object) -> "Scene":
        return self.but(host=structs.replace(self.visit.host, **changes))

    def link(self, side: Side, **changes: object) -> "Scene":
        changed = structs.replace(self.visit.link.direction(side), **changes)
        return self.but(link=structs.replace(self.visit.link, **{side: changed}))

    def down(self, **changes: object) -> "Scene":
        return self.link("down", **changes)

    def far(self, side: Side, *more: FarEnd, **changes: object) -> "Scene":
        """The scene with every far end of a direction changed, and others added."""
        ends = self.visit.link.direction(side).far_ends
        changed = tuple(structs.replace(end, **changes) for end in ends)
        return self.link(side, far_ends=(*changed, *more))

    def requests(self, **changes: object) -> "Scene":
        return self.but(requests=tuple(structs.replace(r, **changes) for r in self.visit.requests))

    def log(self, **changes: object) -> "Scene":
        return self.but(served=tuple(structs.replace(s, **changes) for s in self.visit.served))

    def request(self, index: int, **changes: object) -> "Scene":
        changed = list(self.visit.requests)
        changed[index] = structs.replace(changed[index], **changes)
        return self.but(requests=tuple(changed))

    def served(self, index: int, **changes: object) -> "Scene":
        changed = list(self.visit.served)
        changed[index] = structs.replace(changed[index], **changes)
        return self.but(served=tuple(changed))

    def first_connection(self, **changes: object) -> "Scene":
        first, *rest = sorted(self.visit.connections, key=lambda c: c.t_us)
        return self.but(connections=(structs.replace(first, **changes), *rest))


@dataclass(frozen=True)
class Falsehood:
    """`told(scene, beyond)`: the scene at the limit, or with `beyond` just past it."""

    code: ReasonCode
    name: str
    told: Callable[[Scene, bool], Scene]
    protocols: Sequence[Protocol] = ("h1", "h2", "h3")
    """Protocols for which it can be told."""

    def __str__(self) -> str:
        return f"{self.code}, {self.name}".replace(" ", "-")


def _other(scene: Scene) -> str:
    return "h1" if scene.stack.protocol != "h1" else "h2"


def all_slipped(scene: Scene, beyond: bool) -> Scene:
    used = _other(scene) if beyond else scene.stack.protocol
    slipped = (structs.replace(r, protocol=used) for r in scene.visit.requests)
    return scene.but(requests=tuple(slipped))


def one_slipped(scene: Scene, beyond: bool) -> Scene:
    return scene.request(-1, protocol=_other(scene)) if beyond else scene


def one_slipped_by_the_log(scene: Scene, beyond: bool) -> Scene:
    return scene.served(-1, protocol=_other(scene)) if beyond else scene


def stranger(scene: Scene, beyond: bool) -> Scene:
    return scene.but(served=scene.visit.served[:-1]) if beyond else scene


def window(scene: Scene, beyond: bool) -> Scene:
    told = scene.visit.connections[0].transport
    packets = scene.stack.initial_window_packets + beyond
    return scene.first_connection(transport=structs.replace(told, initial_window_packets=packets))


def invented(scene: Scene, beyond: bool) -> Scene:
    share, asked = scene.limits.miss_share, len(scene.visit.served)
    count = math.floor(share * asked / (1 - share)) + beyond
    line = scene.visit.served[-1]
    new = (structs.replace(line, url=f"{scene.page.url}?{i}", match="miss") for i in range(count))
    return scene.but(served=(*scene.visit.served, *new))


def missing(scene: Scene, beyond: bool) -> Scene:
    return scene.served(-1, match="miss", status=404) if beyond else scene


def refused(scene: Scene, beyond: bool) -> Scene:
    """A request that never arrived. A network may cause that, a refused certificate may not."""
    error = "net::ERR_CERT_AUTHORITY_INVALID" if beyond else "net::ERR_CONNECTION_TIMED_OUT"
    url = scene.visit.requests[-1].url
    unheard = scene.but(served=tuple(s for s in scene.visit.served if s.url != url))
    never = {"protocol": None, "status": 0, "wire_bytes": 0, "response_start_ms": None}
    return unheard.request(-1, error=error, **never)


def resumed(scene: Scene, beyond: bool) -> Scene:
    return scene.first_connection(resumed=beyond)


def cached(scene: Scene, beyond: bool) -> Scene:
    """An answer from the cache, which the server sent before its use, or never."""
    from_cache = scene.request(-1, from_cache=True)
    url = urldefrag(scene.visit.requests[-1].url).url
    left = tuple(s for s in scene.visit.served if not beyond or s.url != url)
    return from_cache.but(served=left)


def early_on_the_wire(scene: Scene, beyond: bool) -> Scene:
    after_us = scene.visit.started_us + round(scene.visit.plt_ms * 1000)
    return scene.far("up", early_packets=int(beyond), first_early_us=after_us)


def load_beyond_rate(scene: Scene, beyond: bool) -> Scene:
    """One body is larger; at the limit, so large that the page load time is the least possible."""
    spare_ms = scene.visit.plt_ms + scene.limits.clock_slack_ms
    spare_ms -= floor_ms(scene.visit, scene.network, scene.stack) - _either(EPSILON, beyond)
    more = round(spare_ms * scene.network.down.rate_mbps * 125)
    done = next(
        i for i, r in enumerate(scene.visit.requests) if r.end_ms and r.end_ms < scene.visit.plt_ms
    )
    size = scene.visit.requests[done].wire_bytes + more
    return scene.request(done, wire_bytes=size).down(bytes_out=10**9).far("down", bytes=10**9)


def first_byte(scene: Scene, beyond: bool) -> Scene:
    rtts = connect_rtts(scene.visit, scene.stack) + 1
    least = rtts * scene.network.least_rtt_ms - scene.limits.clock_slack_ms
    return scene.but(ttfb_ms=least - _either(EPSILON, beyond))


def answer(scene: Scene, beyond: bool) -> Scene:
    least = scene.network.least_rtt_ms - scene.limits.clock_slack_ms
    sent = scene.visit.requests[-1].send_start_ms
    return scene.request(-1, response_start_ms=sent + least - _either(EPSILON, beyond))


def bypassed(scene: Scene, beyond: bool) -> Scene:
    return scene.down(bytes_out=scene.visit.wire_bytes - beyond)


def host_bypassed(scene: Scene, beyond: bool) -> Scene:
    """One host's answers did not cross the link."""
    request = scene.visit.requests[-1]
    mine = (r for r in scene.visit.requests if r.remote_ip == request.remote_ip)
    received = sum(r.wire_bytes for r in mine)
    ends = scene.visit.link.down.far_ends
    others = tuple(e for e in ends if e.address != request.remote_ip)
    left = next(e for e in ends if e.address == request.remote_ip)
    return scene.down(far_ends=(*others, structs.replace(left, bytes=received - beyond)))


def mute(scene: Scene, beyond: bool) -> Scene:
    """Only one direction crosses the link."""
    return scene.far("up", packets=1 - beyond, bytes=52 * (1 - beyond))


def super_packet(scene: Scene, beyond: bool) -> Scene:
    return scene.down(largest_frame_bytes=1514 + beyond)


def unread(scene: Scene, beyond: bool) -> Scene:
    return scene.down(ring_drops=int(beyond))


def beside_the_model(side: str, where: str) -> Callable[[Scene, bool], Scene]:
    """A packet that the kernel dropped. Honest links report none, and older links do not count
    them."""

    def off(scene: Scene, beyond: bool) -> Scene:
        return scene.link(side, **{where: 1 if beyond else 0})

    return off


def rate(factor: int) -> Callable[[Scene, bool], Scene]:
    def off(scene: Scene, beyond: bool) -> Scene:
        error = scene.limits.rate_error + _either(EPSILON / 100, beyond)
        least_ms = 8000 / scene.network.down.rate_mbps
        busy_ms = least_ms * (1 - factor * error) - factor  # a packet was late by a millisecond
        return scene.down(busy_bytes=1_000_000, busy_ms=busy_ms, lateness_max_us=1000.0)

    return off


def line(side: Side, factor: int) -> Callable[[Scene, bool], Scene]:
    """A few packets that never queue behind another."""

    def off(scene: Scene, beyond: bool) -> Scene:
        error = scene.limits.rate_error + _either(EPSILON / 100, beyond)
        least_ms = scene.network.direction(side).least_ms(3000)
        few = {"packets_in": 2, "busy_bytes": 0, "busy_ms": 0.0}
        return scene.link(side, line_bytes=3000, line_ms=least_ms * (1 - factor * error), **few)

    return off


def no_bottleneck(scene: Scene, beyond: bool) -> Scene:
    least_ms = scene.network.up.least_ms(40)
    return scene.link("up", line_bytes=40 * (not beyond), line_ms=least_ms * (not beyond))


def too_soon(scene: Scene, beyond: bool) -> Scene:
    least = scene.network.down.delay_ms - scene.limits.clock_slack_ms
    return scene.down(transit_min_ms=least - _either(EPSILON, beyond))


def too_late(scene: Scene, beyond: bool) -> Scene:
    asked = scene.network.down
    slack = max(scene.limits.delay_error_ms, scene.limits.delay_error_share * asked.delay_ms)
    flight_ms = asked.delay_ms + slack + _either(EPSILON, beyond)
    return scene.down(transit_min_ms=flight_ms, flight_min_ms=flight_ms)


def lost(*, many: bool) -> Callable[[Scene, bool], Scene]:
    def off(scene: Scene, beyond: bool) -> Scene:
        asked = structs.replace(scene.network.down, loss=0.05)
        low, high = loss_interval(20_000, 0.05, scene.limits.loss_tail)
        count = high + beyond if many else low - beyond
        lossy = replace(scene, network=structs.replace(scene.network, down=asked))
        return lossy.down(loss_trials=20_000, packets_in=20_000, dropped_loss=count)

    return off


def managed(scene: Scene, aqm: Aqm, **seen: object) -> Scene:
    """The downstream direction with active queue management."""
    asked = structs.replace(scene.network.down, aqm=aqm)
    network = structs.replace(scene.network, down=asked)
    return replace(scene, network=network).down(ect=0, **seen)


def flown(scene: Scene, side: Side, us: int) -> Scene:
    """One packet that took so long besides the bottleneck, at the recordings' start."""
    flights = Flights(
        zero_us=scene.visit.started_us - 5_000_000, slot_us=1000, slots=((0, us, us),)
    )
    return scene.link(side, flights=flights)


def other_delays(scene: Scene, beyond: bool) -> Scene:
    """A packet that took less than the recorded delay of its moment."""
    delays = DelayTrace(name="made", steps=((0, 0), (0.5, 5), (1, 0)))
    down = structs.replace(scene.network.down, delay_trace=delays)
    least_ms = down.delay_ms - scene.limits.clock_slack_ms
    played = replace(scene, network=structs.replace(scene.network, down=down))
    return flown(played, "down", round(1000 * least_ms) - 100 * beyond)


def no_grant(scene: Scene, beyond: bool) -> Scene:
    """A client that never waited for the grants that its network asks for."""
    up = structs.replace(scene.network.up, grant=Grant(request_ms=10, delay_ms=8, held_ms=1))
    granting = replace(scene, network=structs.replace(scene.network, up=up))
    us = round(1000 * up.delay_ms) + 8_000
    return flown(granting, "up", us).link("up", granted=int(not beyond))


def marked_deaf(scene: Scene, beyond: bool) -> Scene:
    """A mark on a packet whose sender does not understand ECN."""
    return managed(scene, Codel(), marked=int(beyond))


def idle_codel(scene: Scene, beyond: bool) -> Scene:
    most_ms = 105 + 4 * scene.network.down.least_ms(ETHERNET_MTU)
    return managed(scene, Codel(), queue_max_ms=most_ms + _either(EPSILON, beyond))


def _queue(name: str, **seen: object) -> QueueReport:
    told: dict[str, object] = {"packets": 50, "bytes": 50_000, "marked": 0, "dropped": 0}
    waits: dict[str, object] = {f"wait_{which}_ms": 0.0 for which in ("p50", "p99", "max")}
    return msgspec.convert({"queue": name, **told, **waits, **seen}, QueueReport)


def idle_dualpi2(scene: Scene, beyond: bool) -> Scene:
    most_ms = 1 + 4 * scene.network.down.least_ms(ETHERNET_MTU)
    l4s = _queue("l4s", wait_p50_ms=most_ms + _either(EPSILON, beyond))
    return managed(scene, DualPi2(), queues=(_queue("classic"), l4s))


def marked_elsewhere(scene: Scene, beyond: bool) -> Scene:
    queues = (_queue("classic", marked=2), _queue("l4s", marked=5))
    return managed(scene, DualPi2()).down(queues=queues, marked=7 + beyond, ect=None)


def one_queue_for_two(scene: Scene, beyond: bool) -> Scene:
    queues = () if beyond else (_queue("classic"), _queue("l4s"))
    return managed(scene, DualPi2(), queues=queues)


def two_queues_for_one(scene: Scene, beyond: bool) -> Scene:
    return managed(scene, Codel(), queues=(_queue("l4s"),) * beyond)


def told_of_nothing(scene: Scene, beyond: bool) -> Scene:
    """An ICMP answer to a packet that was not dropped."""
    narrow = structs.replace(scene.network.down, mtu=1400, mtu_behaviour="too-big")
    network = structs.replace(scene.network, down=narrow)
    return replace(scene, network=network).down(dropped_mtu=3, told_too_big=3 + beyond)


def late(scene: Scene, beyond: bool) -> Scene:
    limits = scene.limits
    most = max(limits.lateness_p99_ms, limits.lateness_p99_rtt_share * scene.network.rtt_ms)
    return scene.down(lateness_p99_us=(most + _either(EPSILON, beyond)) * 1000)


def starved(who: str) -> Callable[[Scene, bool], Scene]:
    """Other processes ran all the time."""

    def waits(scene: Scene, beyond: bool) -> Scene:
        limits = scene.limits
        most = max(limits.wait_ms, limits.wait_share * scene.visit.plt_ms)
        wait_ms = most + _either(EPSILON, beyond)
        return scene.host(**{f"{who}_wait_ms": wait_ms, "outside_cpu_s": wait_ms / 1000})

    return waits


def crowded(scene: Scene, beyond: bool) -> Scene:
    """Other processes use CPU time while browser and server compute for half of the load."""
    needed_s = scene.visit.plt_ms / 1000 / 2
    share = scene.limits.others_share + EPSILON / 100 * beyond
    return scene.host(others_share=share, browser_cpu_s=needed_s, origin_cpu_s=0.0)


def computing(scene: Scene, beyond: bool) -> Scene:
    """Browser and server compute all the time with precedence on a crowded machine. The limit is
    the time that bytes and round trips leave."""
    needed = needed_ms(scene.visit, scene.network, scene.stack)
    rest = 1 - needed / scene.visit.plt_ms
    limits = structs.replace(scene.limits, precedence_share=rest - _either(EPSILON / 100, beyond))
    computed_s = scene.visit.plt_ms / 1000
    busy = replace(scene, limits=limits).host(others_share=0.8, precedence=True)
    return busy.host(browser_cpu_s=computed_s, origin_cpu_s=0.0)


def hindered(scene: Scene, beyond: bool) -> Scene:
    """Other processes use half of the CPU time and delay the load."""
    needed_s = _needed_s(scene, 0.5, beyond)
    return scene.host(others_share=0.5, browser_cpu_s=needed_s, origin_cpu_s=0.0)


def stolen(scene: Scene, beyond: bool) -> Scene:
    """The hypervisor takes CPU time while browser and server compute for half of the load."""
    needed_s = scene.visit.plt_ms / 1000 / 2
    share = scene.limits.steal_share + EPSILON / 100 * beyond
    return scene.host(steal_share=share, busy_share=0.1, browser_cpu_s=needed_s, origin_cpu_s=0.0)


def robbed(scene: Scene, beyond: bool) -> Scene:
    """The hypervisor takes one second per two seconds of computing."""
    needed_s = _needed_s(scene, 0.5, beyond)
    return scene.host(steal_share=0.1, busy_share=0.3, browser_cpu_s=needed_s, origin_cpu_s=0.0)


def heat(scene: Scene, beyond: bool) -> Scene:
    return scene.host(throttled=scene.limits.throttles + beyond)


def as_fast(scene: Scene, beyond: bool) -> Scene:
    """A client that should be four times slower."""
    slowdown = 4 * (1 - scene.limits.slowdown_error) - _either(EPSILON, beyond)
    return replace(scene.but(cpu_slowdown=slowdown), slowdown=4.0)


def _needed_s(scene: Scene, share: float, beyond: bool) -> float:
    """Return the CPU seconds whose delay is just the longest that a load may have, or beyond it."""
    held_up_s = scene.limits.held_up_share * scene.visit.plt_ms / 1000
    return held_up_s / share + _either(EPSILON, beyond)


def blind(scene: Scene, beyond: bool) -> Scene:
    most = scene.limits.blind_ms
    return scene.but(visual=Visual(frames=2, blind_ms=most + EPSILON * beyond))


def dropped(scene: Scene, beyond: bool) -> Scene:
    count = math.floor(scene.limits.abort_share * len(scene.visit.requests)) + beyond
    for index in range(count):
        end_ms = scene.visit.plt_ms
        scene = scene.request(index, error="net::ERR_ABORTED", end_ms=end_ms)
    return scene


def broken_off(scene: Scene, beyond: bool) -> Scene:
    error = "net::ERR_ABORTED" if beyond else "net::ERR_CONNECTION_RESET"
    return scene.but(outcome="failed", plt_ms=None, error=error)


def clock_set(way: int) -> Callable[[Scene, bool], Scene]:
    def jumps(scene: Scene, beyond: bool) -> Scene:
        limits = scene.limits
        most = max(limits.clock_error_ms, limits.clock_error_share * scene.visit.host.wall_ms)
        return scene.host(clock_jump_ms=way * (most + _either(EPSILON, beyond)))

    return jumps


def browser_clock(*, ahead: bool) -> Callable[[Scene, bool], Scene]:
    def off(scene: Scene, beyond: bool) -> Scene:
        least, most = offset_ms(scene.visit, scene.network)
        wanted = scene.limits.clock_error_ms + _either(EPSILON, beyond)
        later_ms = most + wanted if ahead else least - wanted
        return scene.but(started_us=scene.visit.started_us + round(later_ms * 1000))

    return off


def another_picture(scene: Scene, beyond: bool) -> Scene:
    cells = THUMBNAIL[0] * THUMBNAIL[1]
    changed = math.floor(scene.limits.picture_share * cells) + beyond
    pixels = [_BLACK] * changed + [_WHITE] * (cells - changed)
    seen = Visual(frames=2, final=_png(pixels))
    return replace(scene.but(visual=seen), reference=_png([_WHITE] * cells))


def _png(pixels: list[tuple[int, int, int]]) -> bytes:
    image = Image.new("RGB", THUMBNAIL)
    image.putdata(pixels)
    held = io.BytesIO()
    image.save(held, "png")
    return held.getvalue()


def short(scene: Scene, beyond: bool) -> Scene:
    """A body is short according to the browser."""
    return scene.request(-1, body_bytes=scene.visit.requests[-1].body_bytes - beyond)


def short_by_the_log(scene: Scene, beyond: bool) -> Scene:
    return scene.served(-1, body_bytes=scene.visit.served[-1].body_bytes - beyond)


def one_byte(scene: Scene, beyond: bool) -> Scene:
    """Every body has one byte, which no digest vouches for. At the limit, only the page's last body
    has one byte, honestly."""
    if beyond:
        return scene.requests(body_bytes=1, digest="").log(body_bytes=1)
    url = scene.visit.requests[-1].url
    (place,) = (i for i, s in enumerate(scene.visit.served) if s.url == url)
    tiny = scene.request(-1, body_bytes=1, digest="").served(place, body_bytes=1)
    resources = [
        structs.replace(r, body_bytes=1, decoded_bytes=1) if r.url == url else r
        for r in scene.page.resources
    ]
    return replace(tiny, page=structs.replace(scene.page, resources=tuple(resources)))


def server_errors(scene: Scene, beyond: bool) -> Scene:
    status = 500 if beyond else 200
    return scene.requests(status=status).log(status=status)


def another_recording(scene: Scene, beyond: bool) -> Scene:
    """Another recording with the same URLs and sizes."""
    return scene.log(digest="0" * 16) if beyond else scene


def another_body(scene: Scene, beyond: bool) -> Scene:
    """Another body according to the browser's sample, where the log is honest."""
    url = scene.visit.requests[-1].url
    honest = next(r.digest for r in scene.page.resources if r.url == url)
    return scene.request(-1, digest="0" * 16 if beyond else honest)


def document_alone(scene: Scene, beyond: bool) -> Scene:
    """Only the document is requested. At the limit, the last object comes so late that objects
    which depend on it may be missing."""
    first, *rest = scene.visit.requests
    late = structs.replace(rest[-1], end_ms=scene.visit.plt_ms + EPSILON)
    kept = (first,) if beyond else (first, late)
    served = tuple(s for s in scene.visit.served if s.url in {r.url for r in kept})
    return scene.but(requests=kept, served=served)


def foreign_address(scene: Scene, beyond: bool) -> Scene:
    return _answered_by(scene, remote_ip="10.99.0.1") if beyond else scene


def foreign_port(scene: Scene, beyond: bool) -> Scene:
    return _answered_by(scene, remote_port=4433) if beyond else scene


def _answered_by(scene: Scene, **place: object) -> Scene:
    """Return the scene in which the last answer came over the link from another address."""
    told = scene.request(-1, **place)
    request = told.visit.requests[-1]
    place = {"address": request.remote_ip, "port": request.remote_port, "bytes": 10**6}
    ends = structs.replace(told.visit.link.down.far_ends[0], **place)
    return told.far("down", ends).far("up", ends)


def foreign_connection(scene: Scene, beyond: bool) -> Scene:
    """Every connection names another host than the page's."""
    told = {"host": "another.test"} if beyond else {}
    every = tuple(structs.replace(c, **told) for c in scene.visit.connections)
    return scene.but(connections=every)


def packet_elsewhere(scene: Scene, beyond: bool) -> Scene:
    """A packet to another address, without an answer. At the limit the address is multicast."""
    return _sent_to(scene, "10.99.0.1" if beyond else "224.0.0.251", 443)


def foreign_names(scene: Scene, beyond: bool) -> Scene:
    return _sent_to(scene, "10.64.0.2" if beyond else "224.0.0.251", 53)


def _sent_to(scene: Scene, address: str, port: int) -> Scene:
    end = FarEnd(address=address, port=port, transport="udp", packets=1, bytes=60)
    return scene.far("up", end)


def another_authority(scene: Scene, beyond: bool) -> Scene:
    issuer = "a proxy that looks inside" if beyond else scene.visit.authority
    return scene.but(issuers={issuer: scene.page.url})


def proxied(scene: Scene, beyond: bool) -> Scene:
    return scene.but(proxies=("https_proxy",) if beyond else ())


def left_open(scene: Scene, beyond: bool) -> Scene:
    opened = scene.visit.served[-1].connection
    return scene.served(-1, connection=10**9 if beyond else opened)


def _by_alt_svc(scene: Scene) -> Scene:
    return replace(scene, stack=structs.replace(scene.stack, protocol="h3", discovery="alt-svc"))


def _over_quic(scene: Scene, **changes: object) -> Scene:
    """Return the scene with packets to every host over UDP, besides those over TCP."""
    tcp = scene.visit.link.up.far_ends
    udp = (structs.replace(end, transport="udp", **changes) for end in tcp)
    return scene.far("up", *udp)


def untried(scene: Scene, beyond: bool) -> Scene:
    """Early data was not tried. At the limit it was a single packet, which the link lost."""
    told = _by_alt_svc(scene)
    return told if beyond else _over_quic(told, packets=0, bytes=0, dropped=1)


def unheard(scene: Scene, beyond: bool) -> Scene:
    return _over_quic(_by_alt_svc(scene), packets=3 + beyond, dropped=0)


def unused(scene: Scene, beyond: bool) -> Scene:
    """QUIC connections begin as late as the last request of each host allows; beyond the limit,
    just before."""
    told = _over_quic(_by_alt_svc(scene), packets=9, dropped=0)
    ready_ms = 3 * scene.network.rtt_ms + 5
    hosts = {r.host for r in scene.visit.requests}
    made = []
    for number, host in enumerate(sorted(hosts), start=10**6):
        last_ms = max(r.start_ms for r in scene.visit.requests if r.host == host)
        at_ms = last_ms - ready_ms - _either(EPSILON, beyond)
        like = next(c for c in scene.visit.connections if c.host == host)
        at_us = scene.visit.started_us + round(at_ms * 1000)
        quic = structs.replace(like.transport, packet_bytes=scene.stack.udp_payload_bytes)
        new = {"id": number, "protocol": "h3", "t_us": at_us, "transport": quic}
        made.append(structs.replace(like, **new))
    return told.but(connections=(*scene.visit.connections, *made))


def early_refused(scene: Scene, beyond: bool) -> Scene:
    """A repeat visit whose document came late. An upstream packet was lost: before the request
    arrived at the limit, after it beyond."""
    stack = structs.replace(scene.stack, early_data=True)
    resumed = tuple(structs.replace(c, resumed=True) for c in scene.visit.connections)
    document = next(s for s in scene.visit.served if s.url == scene.page.url)
    served = tuple(
        structs.replace(s, resumed=True, early=s is not document) for s in scene.visit.served
    )
    told = replace(scene, stack=stack).but(connection="repeat", connections=resumed, served=served)
    lost_us = document.t_us - (not beyond)
    return told.far("up", first_drop_us=lost_us, dropped=1).link("up", dropped_loss=0)


def other_control(scene: Scene, beyond: bool) -> Scene:
    """A server that decides TCP's congestion control itself, according to the kernel."""
    asked = scene.stack.congestion
    return scene.but(congestion=(asked, "another" if beyond else asked))


def unasked_ecn(scene: Scene, beyond: bool) -> Scene:
    """Packets of a server that claims to be capable of ECN although the stack has none."""
    lied = scene.far("down", ect0=int(beyond)) if scene.visit.link.down.far_ends else scene
    return lied.down(ect=int(beyond))


def other_code_point(scene: Scene, beyond: bool) -> Scene:
    """A sender that claims L4S, one of whose packets came as ECT(0)."""
    stack = structs.replace(scene.stack, congestion="prague", ecn="l4s", pacing=True)
    told = tuple(
        structs.replace(
            connection,
            transport=structs.replace(
                connection.transport, congestion="prague", paced=True, slow_start_exit=None
            ),
        )
        for connection in scene.visit.connections
    )
    packets = {"transport": "udp", "packets": 1000, "ect0": int(beyond), "ect1": 1000 - beyond}
    return replace(scene, stack=stack).but(connections=told).far("down", **packets).down(ect=1000)


def table_unoffered(scene: Scene, beyond: bool) -> Scene:
    """A client that fills a QPACK table which the origin never offered."""
    told = tuple(
        structs.replace(
            connection,
            transport=structs.replace(
                connection.transport, qpack_request_entries=int(beyond), qpack_answer_entries=0
            ),
        )
        for connection in scene.visit.connections
    )
    stack = structs.replace(scene.stack, qpack_table_bytes=0)
    return replace(scene, stack=stack).but(connections=told)


def _either(amount: float, beyond: bool) -> float:
    return amount if beyond else -amount


FALSEHOODS = [
    Falsehood("fallback", "every request", all_slipped),
    Falsehood("fallback", "Alt-Svc without QUIC", untried, ("h2",)),
    Falsehood("fallback", "Alt-Svc with QUIC unheard", unheard, ("h2",)),
    Falsehood("fallback", "Alt-Svc with QUIC unused", unused, ("h2",)),
    Falsehood("mixed", "one request", one_slipped),
    Falsehood("mixed", "one request by the origin's log", one_slipped_by_the_log),
    Falsehood("stack-drift", "early data on the wire", early_on_the_wire),
    Falsehood("stack-drift", "an answer nobody gave", stranger),
    Falsehood("stack-drift", "a window one packet larger", window),
    Falsehood("stack-drift", "another congestion control", other_control, ("h1", "h2")),
    Falsehood("stack-drift", "a packet capable of ECN", unasked_ecn),
    Falsehood("stack-drift", "a packet of another code point", other_code_point, ("h3",)),
    Falsehood("stack-drift", "a header table nobody offered", table_unoffered, ("h3",)),
    Falsehood("replay-miss", "requests nobody recorded", invented),
    Falsehood("replay-miss", "a recorded object", missing),
    Falsehood("replay-miss", "a request that was refused", refused),
    Falsehood("stack-drift", "early data refused after a loss", early_refused),
    Falsehood("stack-drift", "a foreign address", foreign_address),
    Falsehood("stack-drift", "a foreign port", foreign_port),
    Falsehood("stack-drift", "a connection to another host", foreign_connection),
    Falsehood("stack-drift", "a packet elsewhere", packet_elsewhere),
    Falsehood("stack-drift", "a name looked up outside", foreign_names),
    Falsehood("stack-drift", "another authority", another_authority),
    Falsehood("stack-drift", "a proxy", proxied),
    Falsehood("content-mismatch", "a byte too few", short),
    Falsehood("content-mismatch", "a byte too few by the origin's log", short_by_the_log),
    Falsehood("content-mismatch", "bodies of one byte", one_byte),
    Falsehood("content-mismatch", "status 500", server_errors),
    Falsehood("content-mismatch", "another recording", another_recording),
    Falsehood("content-mismatch", "another body", another_body),
    Falsehood("content-mismatch", "the document alone", document_alone),
    Falsehood("warm", "an open connection", left_open),
    Falsehood("warm", "a resumed session", resumed),
    Falsehood("warm", "a cached answer", cached),
    Falsehood("impossible", "bytes beyond the rate", load_beyond_rate),
    Falsehood("impossible", "first byte", first_byte),
    Falsehood("impossible", "an answer", answer),
    Falsehood("link-drift", "bytes past the link", bypassed),
    Falsehood("link-drift", "a host past the link", host_bypassed),
    Falsehood("link-drift", "one direction past the link", mute),
    Falsehood("link-drift", "a few bytes too fast down", line("down", +1)),
    Falsehood("link-drift", "a few bytes too slow down", line("down", -1)),
    Falsehood("link-drift", "a few bytes too fast up", line("up", +1)),
    Falsehood("link-drift", "a few bytes too slow up", line("up", -1)),
    Falsehood("link-drift", "no bottleneck up", no_bottleneck),
    Falsehood("link-drift", "a super-packet", super_packet),
    Falsehood("link-drift", "an unread packet", unread),
    Falsehood("link-drift", "lost before it, up", beside_the_model("up", "lost_before")),
    Falsehood("link-drift", "lost before it, down", beside_the_model("down", "lost_before")),
    Falsehood("link-drift", "lost behind it, up", beside_the_model("up", "lost_behind")),
    Falsehood("link-drift", "lost behind it, down", beside_the_model("down", "lost_behind")),
    Falsehood("link-drift", "another delay than recorded", other_delays),
    Falsehood("link-drift", "no wait for a grant", no_grant),
    Falsehood("link-drift", "a mark on what knows no ECN", marked_deaf),
    Falsehood("link-drift", "CoDel that never acts", idle_codel),
    Falsehood("link-drift", "DualPI2 that never marks", idle_dualpi2),
    Falsehood("link-drift", "a mark of neither queue", marked_elsewhere),
    Falsehood("link-drift", "DualPI2 with one queue", one_queue_for_two),
    Falsehood("link-drift", "two queues of CoDel", two_queues_for_one),
    Falsehood("link-drift", "an answer to what was not too long", told_of_nothing),
    Falsehood("link-drift", "rate too high", rate(+1)),
    Falsehood("link-drift", "rate too low", rate(-1)),
    Falsehood("link-drift", "delay too short", too_soon),
    Falsehood("link-drift", "delay too long", too_late),
    Falsehood("link-drift", "loss too high", lost(many=True)),
    Falsehood("link-drift", "loss too low", lost(many=False)),
    Falsehood("overloaded", "a late link", late),
    Falsehood("overloaded", "a starved browser", starved("browser")),
    Falsehood("overloaded", "a starved server", starved("server")),
    Falsehood("overloaded", "a crowded machine", crowded),
    Falsehood("overloaded", "a crowded machine and a page that computes", computing),
    Falsehood("overloaded", "a crowd in the way", hindered),
    Falsehood("overloaded", "much stolen time", robbed),
    Falsehood("overloaded", "stolen time", stolen),
    Falsehood("overloaded", "heat", heat),
    Falsehood("device-drift", "a client that is too fast", as_fast),
    Falsehood("overloaded", "frames that may be lost", blind),
    Falsehood("aborted", "requests", dropped),
    Falsehood("aborted", "the navigation", broken_off),
    Falsehood("clock-jump", "set ahead", clock_set(+1)),
    Falsehood("clock-jump", "set back", clock_set(-1)),
    Falsehood("clock-jump", "a browser ahead", browser_clock(ahead=True)),
    Falsehood("clock-jump", "a browser behind", browser_clock(ahead=False)),
    Falsehood("picture-mismatch", "another picture", another_picture),
]
TOLD = [(falsehood, protocol) for falsehood in FALSEHOODS for protocol in falsehood.protocols]
"""Each falsehood with each protocol of which it can be told."""
