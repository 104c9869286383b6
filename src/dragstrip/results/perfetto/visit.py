"""Writes one visit as a trace: page, browser, link, server and connections on one clock.

Time in the trace is CLOCK_REALTIME, so traces of one capsule can be put side by side. Each track
has its own name: Perfetto shows a track that is pinned or found without its group.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from dragstrip.browsers.main_thread import Task
from dragstrip.model.effects import STAGES, Side
from dragstrip.model.visit import Connection, DirectionReport, Request, Served, Visit
from dragstrip.results.packets import Packet
from dragstrip.results.perfetto.event_trace import EventTrace, Track, Value
from dragstrip.visit.qlog import QlogTrace

_T = TypeVar("_T")
_LONG_NAME = 60
_METRICS = {
    "congestion_window": ("congestion window", "B", 1.0),
    "bytes_in_flight": ("bytes in flight", "B", 1.0),
    "smoothed_rtt": ("smoothed round trip", "ms", 1.0),
    "pacing_rate": ("pacing rate", "Mbit/s", 1e-6),
}


def visit_trace(
    visit: Visit,
    qlog: Sequence[QlogTrace] = (),
    packets: Sequence[Packet] = (),
    frames_ms: Sequence[float] = (),
    tasks: Sequence[Task] = (),
) -> bytes:
    """Write the trace.

    `qlog` are the connections' traces, `packets` those of the capture, `frames_ms` the times at
    which the browser drew, and `tasks` the work of its main thread. Each may be empty; then its
    tracks are missing.
    """
    made = _Visit(visit)
    made.page(frames_ms)
    made.main_thread(tasks)
    made.requests()
    for side in STAGES:
        made.link(side, packets)
    made.served()
    made.connections(qlog)
    return made.trace.encoded()


class _Visit:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.trace = EventTrace()

    def page(self, frames_ms: Sequence[float]) -> None:
        """Add the load, the paints, the frames, and how complete the picture was."""
        visit, trace = self._visit, self.trace
        of = f"{visit.page} over {visit.network}, {visit.stack}"
        group = trace.track(f"page: {of}")
        line = trace.track("load", group)
        end_ms = visit.plt_ms
        if end_ms is None:
            ends = [r.end_ms for r in visit.requests if r.end_ms is not None]
            end_ms = max(ends, default=0.0)
        facts: dict[str, Value] = {
            "visit": visit.id,
            "outcome": visit.outcome,
            "verdict": "valid" if visit.valid else "not valid",
            "reasons": "; ".join(f"{r.code}: {r.detail}" for r in visit.reasons),
            "browser": visit.browser,
        }
        trace.span(line, visit.outcome, self._ns(0), self._ns(end_ms), facts)
        marks = {
            "first byte": visit.ttfb_ms,
            "first contentful paint": visit.fcp_ms,
            "DOMContentLoaded": visit.dcl_ms,
            "largest contentful paint": visit.lcp_ms,
        }
        paints = trace.track("marks", group)
        for name, at_ms in marks.items():
            if at_ms is not None:
                trace.instant(paints, name, self._ns(at_ms))
        if frames_ms:
            drawn = trace.track("frames", group)
            for number, at_ms in enumerate(frames_ms):
                trace.instant(drawn, f"frame {number}", self._ns(at_ms))
        if visit.visual and visit.visual.progress:
            complete = trace.counter("visually complete", "%", group)
            for at_ms, share in visit.visual.progress:
                trace.value(complete, self._ns(at_ms), share * 100)

    def main_thread(self, tasks: Sequence[Task]) -> None:
        """Add the work of the page's main thread, nested as it ran, and its frames in a
        separate group."""
        if not tasks:
            return
        group = self.trace.track("browser: main thread")
        for thread in sorted({task.thread for task in tasks}):
            line = self.trace.track(f"work {thread + 1}", group)
            ends: list[int] = []
            for task in (t for t in tasks if t.thread == thread and not t.frame):
                start_ns, end_ns = self._ns(task.start_ms), self._ns(task.end_ms)
                while ends and ends[-1] <= start_ns:
                    ends.pop()
                # Begin and length are cut to whole us, so work may seem to outlast what it is part
                # of.
                ends.append(min([end_ns, *ends[-1:]]))
                self.trace.span(line, task.name, start_ns, ends[-1], {"what": task.what})
        frames = [(task.start_ms, task.end_ms, task) for task in tasks if task.frame]
        if frames:
            group = self.trace.track("browser: frames")
            for lane, (start_ms, end_ms, task) in self._lanes(group, "frames", frames):
                self.trace.span(lane, task.name, self._ns(start_ms), self._ns(end_ms))

    def requests(self) -> None:
        """Add the browser's requests, in lanes, with the phases of each request."""
        group = self.trace.track("browser: requests")
        seen: Counter[str] = Counter()
        spans = [(r.start_ms, _end_ms(r), r) for r in self._visit.requests]
        for lane, (start_ms, end_ms, request) in self._lanes(group, "requests", spans):
            nth = seen[request.url]
            seen[request.url] += 1
            self.trace.span(
                lane,
                _name(request.url),
                self._ns(start_ms),
                self._ns(end_ms),
                _request_facts(request),
                _flow(request.url, nth),
            )
            for name, from_ms, to_ms in _phases(request, end_ms):
                self.trace.span(lane, name, self._ns(from_ms), self._ns(to_ms))

    def served(self) -> None:
        """Add the server's answers, in lanes. Arrows lead from the browser's requests to them."""
        if not self._visit.served:
            return
        group = self.trace.track("server: answers")
        seen: Counter[str] = Counter()
        spans = [(self._ms(s.t_us), self._ms(s.end_us or s.t_us), s) for s in self._visit.served]
        for lane, (start_ms, end_ms, answer) in self._lanes(group, "answers", spans):
            nth = seen[answer.url]
            seen[answer.url] += 1
            self.trace.span(
                lane,
                _name(answer.url),
                self._ns(start_ms),
                self._ns(end_ms),
                _served_facts(answer),
                _flow(answer.url, nth),
            )

    def link(self, side: Side, packets: Sequence[Packet]) -> None:
        """Add what one direction carried, what its queue dropped, and what was inside the link."""
        report = self._visit.link.direction(side) if self._visit.link else None
        mine = [packet for packet in packets if packet.side == side]
        if report is None or (not report.timeline and not mine):
            return
        group = self.trace.track(f"link: {side}")
        self._course(group, side, report)
        if not mine:
            return
        inside = self.trace.counter(f"{side}: bytes inside", "B", group)
        waits = self.trace.counter(f"{side}: time in the link", "ms", group)
        lost = self.trace.track(f"{side}: dropped packets", group)
        changes: dict[int, int] = defaultdict(int)
        for packet in mine:
            came_ns = self._ns(packet.time_ms)
            if packet.left_ms is None:
                facts: dict[str, Value] = {"bytes": packet.bytes, "host": packet.host}
                self.trace.instant(lost, "dropped", came_ns, facts)
                continue
            self.trace.value(waits, came_ns, packet.left_ms - packet.time_ms)
            changes[came_ns] += packet.bytes
            changes[self._ns(packet.left_ms)] -= packet.bytes
        level = 0
        for at_ns in sorted(changes):
            level += changes[at_ns]
            self.trace.value(inside, at_ns, level)

    def _course(self, group: Track, side: Side, report: DirectionReport) -> None:
        if not report.timeline:
            return
        course = report.timeline
        rate = self.trace.counter(f"{side}: rate out", "Mbit/s", group)
        drops = self.trace.counter(f"{side}: dropped by the queue", "packets", group)
        slot_ns = course.slot_us * 1000
        quiet_ns = None
        for index, left_bytes, dropped in course.slots:
            at_ns = course.start_us * 1000 + index * slot_ns
            if quiet_ns is not None and quiet_ns < at_ns:
                self.trace.value(rate, quiet_ns, 0)
                self.trace.value(drops, quiet_ns, 0)
            self.trace.value(rate, at_ns, left_bytes * 8 / course.slot_us)
            self.trace.value(drops, at_ns, dropped)
            quiet_ns = at_ns + slot_ns
        if quiet_ns is not None:
            self.trace.value(rate, quiet_ns, 0)
            self.trace.value(drops, quiet_ns, 0)

    def connections(self, qlog: Sequence[QlogTrace]) -> None:
        """Add the server's connections: handshakes, and if qlog was kept also window, flight and
        losses."""
        if not self._visit.connections:
            return
        by_id = {int(t["common_fields"]["group_id"]): t for t in qlog}
        group = self.trace.track("server: connections")
        for connection in self._visit.connections:
            host = connection.host or "no name"
            line = self.trace.track(f"{connection.id}: {host}, {connection.protocol}", group)
            start_ms = self._ms(connection.t_us)
            done_us = connection.handshake_end_us
            end_ms = start_ms if done_us is None else self._ms(done_us)
            name = f"handshake failed: {connection.error}" if connection.error else "handshake"
            facts = _connection_facts(connection)
            self.trace.span(line, name, self._ns(start_ms), self._ns(end_ms), facts)
            if connection.id in by_id:
                self._metrics(line, connection.id, by_id[connection.id]["events"])

    def _metrics(self, line: Track, of: int, events: Iterable[Mapping[str, object]]) -> None:
        counters: dict[str, Track] = {}
        for event in events:
            at_ns = self._ns(float(str(event["time"])))
            data = event["data"]
            assert isinstance(data, dict)
            if event["name"] == "recovery:packet_lost":
                self.trace.instant(
                    line, "packet lost", at_ns, {"trigger": str(data.get("trigger", ""))}
                )
            if event["name"] != "recovery:metrics_updated":
                continue
            for field, (name, unit, scale) in _METRICS.items():
                if field in data:
                    if field not in counters:
                        counters[field] = self.trace.counter(f"{of}: {name}", unit, line)
                    self.trace.value(counters[field], at_ns, data[field] * scale)

    def _lanes(
        self, group: Track, what: str, spans: Sequence[tuple[float, float, _T]]
    ) -> Iterable[tuple[Track, tuple[float, float, _T]]]:
        """Yield each span, in order of its start, with a track that is free during the span."""
        free: list[tuple[float, int]] = []
        tracks: list[Track] = []
        for span in sorted(spans, key=lambda span: span[:2]):
            if free and free[0][0] <= span[0]:
                _, number = heapq.heappop(free)
            else:
                number = len(tracks)
                tracks.append(self.trace.track(f"{what} {number + 1}", group))
            heapq.heappush(free, (span[1], number))
            yield tracks[number], span

    def _ns(self, ms: float) -> int:
        return self._visit.started_us * 1000 + round(ms * 1e6)

    def _ms(self, us: int) -> float:
        return (us - self._visit.started_us) / 1000


def _flow(url: str, nth: int) -> int:
    """Return the number that the n-th request for a URL and its answer share."""
    number = 0xCBF29CE484222325  # FNV-1a, 64 bits
    for byte in f"{nth} {url}".encode():
        number = (number ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return number


def _end_ms(request: Request) -> float:
    return max(request.start_ms, request.end_ms or request.start_ms)


def _phases(request: Request, end_ms: float) -> Iterable[tuple[str, float, float]]:
    """Yield name, start and end of the request's phases, one after the other."""
    marks = [
        ("name lookup", request.dns_start_ms, request.dns_end_ms),
        ("connect", request.connect_start_ms, request.connect_end_ms),
        ("send", request.send_start_ms, request.send_end_ms),
        ("wait", request.send_end_ms, request.response_start_ms),
        ("receive", request.response_start_ms, end_ms),
    ]
    at_ms = request.start_ms
    for name, from_ms, to_ms in marks:
        if from_ms is None or to_ms is None or to_ms <= from_ms:
            continue
        start_ms, stop_ms = max(from_ms, at_ms), min(to_ms, end_ms)
        if stop_ms > start_ms:
            yield name, start_ms, stop_ms
            at_ms = stop_ms


def _request_facts(request: Request) -> dict[str, Value]:
    return {
        "url": request.url,
        "method": request.method,
        "status": request.status,
        "protocol": request.protocol,
        "type": request.resource_type,
        "priority": request.priority,
        "bytes": request.wire_bytes,
        "connection": request.connection,
        "initiator": request.initiator,
        "error": request.error,
    }


def _served_facts(answer: Served) -> dict[str, Value]:
    return {
        "url": answer.url,
        "status": answer.status,
        "protocol": answer.protocol,
        "connection": answer.connection,
        "bytes": answer.body_bytes,
        "recording": answer.match,
        "early data": answer.early,
    }


def _connection_facts(connection: Connection) -> dict[str, Value]:
    transport = connection.transport
    facts: dict[str, Value] = {"protocol": connection.protocol, "resumed": connection.resumed}
    if transport:
        facts |= {
            "congestion control": transport.congestion,
            "initial window (packets)": transport.initial_window_packets,
            "paced": transport.paced,
            "packets sent": transport.sent_packets,
            "packets declared lost": transport.lost_packets,
        }
    return facts


def _name(url: str) -> str:
    parts = urlsplit(url)
    text = f"{parts.netloc}{parts.path}"
    return text if len(text) <= _LONG_NAME else f"...{text[-_LONG_NAME + 3 :]}"
