import re
from itertools import pairwise
from xml.etree import ElementTree

import simulate
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.model.steps import LinkStep
from dragstrip.model.visit import PhaseReport, Request
from dragstrip.report.figures.waterfall import LABEL, RIGHT, WIDTH, phases, waterfall

mark = st.none() | st.floats(min_value=0, max_value=1e5)


def named(request: Request) -> list[tuple[str, float, float]]:
    return [(p.name, p.start_ms, p.end_ms) for p in phases(request, 900)]


def request(**times: float | None) -> Request:
    return Request(url="https://a.test/", host="a.test", protocol="h2", **times)


def test_the_phases_of_a_new_tcp_connection() -> None:
    found = named(
        request(
            start_ms=0,
            connect_start_ms=5,
            tls_start_ms=79,
            connect_end_ms=153,
            send_start_ms=154,
            response_start_ms=230,
            end_ms=300,
        )
    )
    assert found == [
        ("queue", 0, 5),
        ("connect", 5, 79),
        ("tls", 79, 153),
        ("queue", 153, 154),
        ("wait", 154, 230),
        ("receive", 230, 300),
    ]


def test_a_reused_connection_has_no_handshake() -> None:
    found = named(request(start_ms=10, send_start_ms=40, response_start_ms=120, end_ms=125))
    assert found == [("queue", 10, 40), ("wait", 40, 120), ("receive", 120, 125)]


def test_quic_has_one_handshake() -> None:
    found = named(
        request(start_ms=0, connect_start_ms=1, tls_start_ms=1, connect_end_ms=75, end_ms=80)
    )
    assert ("tls", 1, 75) in found
    assert "connect" not in [name for name, *_ in found]


def test_a_request_without_an_end_waits_until_the_visit_ends() -> None:
    assert named(request(start_ms=10)) == [("queue", 10, 900)]


@given(mark, mark, mark, mark, mark, mark)
def test_whatever_the_browser_says_phases_follow_each_other(
    connect: float | None,
    tls: float | None,
    connected: float | None,
    sent: float | None,
    first: float | None,
    end: float | None,
) -> None:
    made = request(
        start_ms=50,
        connect_start_ms=connect,
        tls_start_ms=tls,
        connect_end_ms=connected,
        send_start_ms=sent,
        response_start_ms=first,
        end_ms=end,
    )
    found = phases(made, 1e6)
    edges = [edge for p in found for edge in (p.start_ms, p.end_ms)]
    assert edges == sorted(edges)
    assert all(a.end_ms == b.start_ms for a, b in pairwise(found))


def test_the_picture_is_well_formed_and_escaped() -> None:
    study = simulate.study(runs=1)
    visit = next(simulate.visits(study, invalid=0, timeouts=0))
    svg = waterfall(visit, 2000)
    root = ElementTree.fromstring(svg)
    titles = [t.text or "" for t in root.iter("title")]
    assert len(titles) == len(visit.requests)
    assert any(simulate.HOSTILE in t for t in titles)
    assert visit.plt_ms is not None
    (load,) = re.findall(r'class="load" x1="([\d.]+)"', svg)
    assert LABEL < float(load) < 1000


def test_changes_of_the_link_are_marked() -> None:
    study = simulate.study(runs=1)
    visit = next(simulate.visits(study, invalid=0, timeouts=0))
    assert visit.link
    steady = waterfall(visit, 2000)
    assert "change" not in steady
    seen = [
        PhaseReport(at_us=visit.started_us + ms * 1000, up=visit.link.up, down=visit.link.down)
        for ms in (-1, 500, 800, 5000)
    ]
    moved = structs.replace(visit, link=structs.replace(visit.link, phases=tuple(seen)))
    asked = structs.replace(
        study.networks[0],
        at=(LinkStep(t_ms=500, outage_ms=300), LinkStep(t_ms=5000, queue="dropped")),
    )
    drawn = waterfall(moved, 2000, asked)
    ElementTree.fromstring(drawn)
    scale = (WIDTH - LABEL - RIGHT) / 2000
    assert re.findall(r'class="change"><title>([^<]*)', drawn) == [
        "at 0.5 s: outage of 300 ms",
        "the link changes (2)",
    ]
    (band,) = re.findall(r'class="outage" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    assert [float(part) for part in band] == [
        round(LABEL + 500 * scale, 1),
        round(300 * scale, 1),
    ]
