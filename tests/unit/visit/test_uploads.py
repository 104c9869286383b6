"""Uploads: how long they took and how fast, and what cannot be true of them."""

import pytest
from msgspec import structs

import made
from dragstrip.model.network import Network
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Visit
from dragstrip.visit.ideal import ideal_ms
from dragstrip.visit.metrics import measures
from dragstrip.visit.physics import floor_ms, possible

UP = Network.parse("80mbit/8mbit/50ms/0%/200ms")  # 1 byte up = 1 us, round trip 100 ms
URL = "https://a.test/upload"


def posted(*uploads: tuple[float, float, int], plt_ms: float = 3000.0) -> Visit:
    """A visit with uploads, each from its start to when the origin had all of its bytes."""
    honest = made.visit("h2", plt_ms=plt_ms)
    requests, served = list(honest.requests), list(honest.served)
    for start_ms, received_ms, size in uploads:
        sent = made.request(URL, "h2", start_ms - 1)
        requests.append(
            structs.replace(
                sent, method="POST", send_end_ms=received_ms - 20, end_ms=received_ms + 50
            )
        )
        received_us = honest.started_us + round(received_ms * 1000)
        line = made.served(
            URL, "h2", method="POST", received_us=received_us, received_bytes=size, ready_us=0
        )
        served.append(line)
    return structs.replace(honest, requests=tuple(requests), served=tuple(served))


def test_an_upload_lasts_until_the_origin_has_it():
    found = measures(posted((500, 2500, 1_000_000)), UP, made.STACKS["h2"])
    assert (found["upload_bytes"], found["upload_ms"]) == (1_000_000, 2000)
    assert found["upload_mbps"] == pytest.approx(4)
    assert found["upload_sent_ms"] == 1980


def test_uploads_beside_each_other_share_their_time():
    found = measures(posted((500, 1500, 500_000), (500, 2000, 700_000)), UP, made.STACKS["h2"])
    assert (found["upload_bytes"], found["upload_ms"]) == (1_200_000, 1500)


def test_nothing_is_invented_where_no_log_says():
    visit = posted((500, 2500, 1_000_000))
    silent = tuple(structs.replace(s, received_us=None, received_bytes=None) for s in visit.served)
    found = measures(structs.replace(visit, served=silent), UP, made.STACKS["h2"])
    assert found["upload_bytes"] is found["upload_ms"] is found["upload_mbps"] is None
    assert found["upload_sent_ms"] == 1980  # the browser's word


def test_an_upload_that_broke_off_took_no_time():
    visit = posted((500, 2500, 1_000_000))
    cut = structs.replace(visit.served[-1], received_us=0, received_bytes=0)
    found = measures(
        structs.replace(visit, served=(*visit.served[:-1], cut)), UP, made.STACKS["h2"]
    )
    assert found["upload_ms"] is None


def test_no_upload_is_faster_than_the_rate_up():
    stack = made.STACKS["h2"]
    honest, lie = posted((500, 2500, 1_900_000)), posted((500, 2500, 3_000_000))
    assert floor_ms(honest, UP, stack) == 200 + 50 + 1900, "connected, and one way"
    assert ideal_ms(honest, UP, stack) == 200 + 50 + 1900
    assert not any("page load" in r.detail for r in possible(honest, UP, stack, DEFAULTS))
    assert any("page load" in r.detail for r in possible(lie, UP, stack, DEFAULTS))


def test_an_upload_after_the_load_is_no_part_of_it():
    late = posted((500, 2500, 1_000_000), plt_ms=900.0)
    assert floor_ms(late, UP, made.STACKS["h2"]) < 900


def test_the_wait_for_an_answer_leaves_out_what_was_uploaded():
    with_upload = measures(posted((500, 2500, 1_000_000)), UP, made.STACKS["h2"])
    without = measures(posted(), UP, made.STACKS["h2"])
    assert with_upload["wait_ms"] == without["wait_ms"]
