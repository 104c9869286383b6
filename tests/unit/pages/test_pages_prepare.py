"""What is changed so that a recording can be served, and that it is said."""

import gzip

import pytest

from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.importers.prepare import prepare

HTML = ("content-type", "text/html; charset=gbk")
UPGRADE = ("content-security-policy", "upgrade-insecure-requests")


def answer(url: str, *headers: tuple[str, str], status: int = 200, wire: bytes = b"x") -> Recorded:
    return Recorded(url=url, status=status, headers=headers, wire=wire)


def prepared(*recorded: Recorded):
    return prepare("a", "a test", list(recorded))


def test_an_https_recording_is_served_as_it_is():
    page = prepared(
        answer("https://a.test/", HTML, wire=b'<img src="http://a.test/x.png">'),
        answer("https://a.test/x.png"),
    )
    assert page.changes == ()
    assert page.answers[0].headers == (HTML,)


def test_http_can_be_kept():
    recorded = [
        answer("http://A.test:80/#x", ("location", "http://a.test/b"), status=301),
        answer("http://a.test/b", HTML),
        answer("https://a.test/b"),
    ]
    page = prepare("a", "a test", recorded, keep_http=True)
    assert [a.url for a in page.answers] == [
        "http://a.test/",
        "http://a.test/b",
        "https://a.test/b",
    ]
    assert page.answers[0].headers == (("location", "http://a.test/b"),)
    assert page.answers[1].headers == (HTML,)


def test_http_is_served_as_https_and_documents_ask_the_browser_to_follow():
    page = prepared(
        answer("http://a.test/", HTML, wire=b'<script src="http://b.test/s.js">'),
        answer("http://b.test/s.js", ("access-control-allow-origin", "http://a.test")),
        answer("https://c.test/ok.js"),
    )
    assert [a.url for a in page.answers] == [
        "https://a.test/",
        "https://b.test/s.js",
        "https://c.test/ok.js",
    ]
    assert UPGRADE in page.answers[0].headers
    assert page.answers[0].wire == b'<script src="http://b.test/s.js">'
    assert page.answers[1].headers == (("access-control-allow-origin", "https://a.test"),)
    assert page.changes[0] == "2 of 3 URLs were http:// and are served as https"
    assert page.changes[1].startswith("1 documents got the header")


def test_a_redirect_to_its_own_https_url_would_loop_and_is_left_out():
    page = prepared(
        answer("http://a.test/", ("location", "https://a.test/"), status=301),
        answer("https://a.test/", HTML),
    )
    assert [(a.url, a.status) for a in page.answers] == [("https://a.test/", 200)]
    assert page.url == "https://a.test/"
    assert any("only redirected to its own https URL" in change for change in page.changes)


def test_other_redirects_stay_and_point_to_https():
    page = prepared(
        answer("http://a.test/", ("Location", "http://www.a.test/"), status=302),
        answer("http://www.a.test/", HTML),
    )
    assert page.answers[0].headers == (("Location", "https://www.a.test/"),)
    assert page.url == "https://a.test/"


def test_what_cannot_be_served_is_left_out_by_name():
    page = prepared(
        answer("https://a.test/", HTML),
        answer("http://66.102.255.57/"),
        answer("http://66.102.255.57/"),
        answer("https://a.test:8443/x"),
    )
    assert len(page.answers) == 1
    assert page.changes == (
        "GET http://66.102.255.57/ left out: its host is an IP address and not a name (2 times)",
        "GET https://a.test:8443/x left out: port 8443 is not served, only 443 and, for http, 80",
    )


def test_nothing_left_is_an_error_that_says_what_was_there():
    with pytest.raises(PageError, match=r"no document.*http://10\.0\.0\.1/ left out"):
        prepared(answer("http://10.0.0.1/", HTML))


def test_the_visit_starts_at_the_first_document():
    page = prepared(answer("https://a.test/robots.txt"), answer("https://a.test/", HTML))
    assert page.url == "https://a.test/"


def test_headers_of_the_connection_are_dropped():
    page = prepared(
        answer(
            "https://a.test/",
            HTML,
            ("Connection", "keep-alive"),
            ("Keep-Alive", "timeout=5"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "1"),
            ("Alt-Svc", 'h3=":443"'),
            ("Strict-Transport-Security", "max-age=1"),
            ("Proxy-Status", "x"),
            ("Upgrade", "h2c"),
            ("Not A Token", "x"),
            ("Set-Cookie", "a=b"),
            ("x-folded", "a\r\nb\0"),
        )
    )
    assert page.answers[0].headers == (HTML, ("Set-Cookie", "a=b"), ("x-folded", "ab"))


def test_a_body_that_was_stored_decoded_is_served_so_and_named():
    gzipped = ("content-encoding", "gzip")
    page = prepared(
        answer("https://a.test/", HTML, gzipped, wire=b"<p>plain"),
        answer("https://a.test/ok", gzipped, wire=gzip.compress(b"fine")),
    )
    assert page.answers[0].headers == (HTML,)
    assert page.answers[1].body == b"fine"
    (change,) = page.changes
    assert change.startswith("https://a.test/ is served without content-encoding")
