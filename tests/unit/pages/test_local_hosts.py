"""Pages of development servers: localhost and IP addresses get names, wherever a URL has them."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.pages.format.recording import Recorded
from dragstrip.pages.importers.local_hosts import LocalHosts
from dragstrip.pages.importers.prepare import prepare

HTML = ("content-type", "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("recorded", "named"),
    [
        ("http://localhost:3000/a", "http://localhost.test:3000/a"),
        ("http://app.localhost/a", "http://app.localhost.test/a"),
        ("http://127.0.0.1:8000/a", "http://127-0-0-1.ip.test:8000/a"),
        ("http://[::1]:8000/a", "http://1.ip.test:8000/a"),
        ("https://[2001:db8::2]/", "https://2001-db8-2.ip.test/"),
        ("ws://localhost/x", "ws://localhost.test/x"),
    ],
)
def test_a_host_that_browsers_do_not_look_up_gets_a_name(recorded, named):
    assert LocalHosts([recorded]).text(recorded) == named


@pytest.mark.parametrize("url", ["https://a.test/", "https://localhost.example/", "", "http://["])
def test_other_hosts_need_none(url):
    assert not LocalHosts([url])


def test_it_is_replaced_where_a_url_names_it_and_nowhere_else():
    hosts = LocalHosts(["http://localhost:3000/"])
    text = (
        '"http://localhost:3000/a" "http:\\/\\/localhost:3000" "?to=http%3A%2F%2Flocalhost%3A3000" '
        '"//LOCALHOST/" localhost //localhost.example //mylocalhost'
    )
    assert hosts.text(text) == (
        '"http://localhost.test:3000/a" "http:\\/\\/localhost.test:3000" '
        '"?to=http%3A%2F%2Flocalhost.test%3A3000" '
        '"//localhost.test/" localhost //localhost.example //mylocalhost'
    )


def test_urls_headers_and_bodies_change_and_the_page_says_so():
    body = b'<script>fetch("http://127.0.0.1:8000/api")</script>'
    document = Recorded(
        url="http://localhost:3000/",
        headers=(HTML, ("content-encoding", "gzip")),
        wire=gzip.compress(body),
    )
    api = Recorded(
        url="http://127.0.0.1:8000/api",
        headers=(("access-control-allow-origin", "http://localhost:3000"),),
        wire=b"http://localhost:3000/",  # of no type that is text
    )
    page = prepare("dev", "a test", [document, api])
    assert page.url == "https://localhost.test:3000/"
    document, api = page.answers
    assert document.body == b'<script>fetch("http://127-0-0-1.ip.test:8000/api")</script>'
    assert dict(api.headers)["access-control-allow-origin"] == "https://localhost.test:3000"
    assert api.wire == b"http://localhost:3000/"
    assert page.changes[-1].endswith(
        "localhost is localhost.test, 127.0.0.1 is 127-0-0-1.ip.test; 1 bodies that name them were "
        "changed"
    )


@given(st.binary(max_size=60))
def test_a_body_without_such_a_url_stays_byte_for_byte(body):
    hosts = LocalHosts(["http://localhost/"])
    answer = Recorded(url="http://localhost/", headers=(HTML,), wire=body)
    if b"//localhost" not in body.lower():
        assert hosts.body(answer) is answer
