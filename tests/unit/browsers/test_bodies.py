"""Which bodies are read back from the browser, and what their digest says."""

import base64
import os
import time

import msgspec
from msgspec import structs

import made
from dragstrip.browsers.bodies import MOST_BODIES, MOST_BYTES, sample, with_digests
from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.exchanges import Exchange
from dragstrip.model.page import digest_of


def exchange(number: int, **changes: object) -> Exchange:
    request = made.request(f"https://a.test/{number}", "h2", 0.0)
    plain = structs.replace(request, digest="", **{"body_bytes": 1000, **changes})
    return Exchange(request=plain, id=str(number))


def drawn(exchanges: list[Exchange], seed: int = 1) -> list[str]:
    return [e.id for e in sample(exchanges, seed)]


def test_a_sample_is_bounded_in_number_and_size_and_drawn_by_the_seed():
    many = [exchange(i) for i in range(50)]
    assert len(drawn(many)) == MOST_BODIES
    assert drawn(many) == drawn(many[::-1])
    assert drawn(many, 1) != drawn(many, 2)
    assert len({i for seed in range(100) for i in drawn(many, seed)}) == 50
    large = [exchange(i, body_bytes=MOST_BYTES // 2) for i in range(9)]
    assert len(drawn(large)) == 2
    assert drawn([exchange(1, body_bytes=MOST_BYTES + 1)]) == []


def test_only_whole_bodies_that_came_now_are_read():
    for other in (
        {"status": 206},
        {"status": 404},
        {"body_bytes": None},
        {"body_bytes": 0},
        {"error": "net::ERR_ABORTED"},
        {"from_cache": True},
    ):
        assert drawn([exchange(1, **other)]) == []
    redirected = [exchange(1, status=302), exchange(1)]
    assert drawn(redirected) == []


def test_digests_are_of_the_bytes_and_text_in_another_charset_says_nothing():
    """The other end of the pipe answers as DevTools does."""
    image, text = bytes(range(200)), "ä" * 100
    here, there = os.pipe(), os.pipe()
    answers = {
        "1": {"base64Encoded": True, "body": base64.b64encode(image).decode()},
        "2": {"base64Encoded": False, "body": text},
        "3": {"base64Encoded": False, "body": text},
    }
    every = [
        exchange(1, body_bytes=200),
        exchange(2, body_bytes=200),
        exchange(3, body_bytes=100),  # it was ISO 8859-1
        exchange(4, body_bytes=99),  # the browser kept it no longer
    ]
    asked = [e.id for e in sample(every, 7)]
    for number, name in enumerate(asked, start=1):
        found = {"result": answers[name]} if name in answers else {"error": {"message": "gone"}}
        os.write(here[1], msgspec.json.encode({"id": number, **found}) + b"\0")
    read = {e.id: e.request.digest for e in with_digests(Cdp(here[0], there[1]), "", every, 7)}
    assert read == {"1": digest_of(image), "2": digest_of(text.encode()), "3": "", "4": ""}
    for end in (*here, *there):
        os.close(end)


def test_an_answer_that_comes_late_is_dropped():
    here, there = os.pipe(), os.pipe()
    cdp = Cdp(here[0], there[1])
    (unread,) = with_digests(cdp, "", [exchange(1)], 1)
    assert unread.request.digest == ""
    late = {"id": 1, "result": {"base64Encoded": True, "body": ""}}
    os.write(here[1], msgspec.json.encode(late) + b"\0")
    assert cdp.pump(time.monotonic() + 1)
    assert not cdp.answered(1)
    for end in (*here, *there):
        os.close(end)
