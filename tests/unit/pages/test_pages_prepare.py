"""Changes that make a recording servable, and the sentences on them."""

import gzip

import pytest

from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.importers.limits import Limits
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
        answer("ftp://a.test/"),
        answer("ftp://a.test/"),
        answer("https://a.test:80/x"),
    )
    assert len(page.answers) == 1
    assert page.changes == (
        "GET ftp://a.test/ left out: the scheme ftp is not http or https (2 times)",
        "GET https://a.test:80/x left out: port 80 is another scheme's",
    )


def test_nothing_left_is_an_error_that_says_what_was_there():
    with pytest.raises(PageError, match=r"no document.*ftp://a\.test/ left out"):
        prepared(answer("ftp://a.test/", HTML))


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
            ("x-folded", "a\r\nb\0"),
        )
    )
    assert page.answers[0].headers == (HTML, ("x-folded", "ab"))


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


def test_secrets_are_left_out_unless_they_are_kept():
    recorded = [
        Recorded(
            url="https://a.test/?token=abc",
            headers=(HTML, ("Set-Cookie", "a=b")),
            request_headers=(("Cookie", "a=b"), ("accept", "*/*")),
        )
    ]
    page = prepare("a", "a test", recorded)
    assert page.url == page.answers[0].url == "https://a.test/?token=xxx"
    assert page.answers[0].headers == (HTML,)
    assert page.answers[0].request_headers == (("accept", "*/*"),)
    assert page.changes == (
        "cookies, credentials and tokens of 1 exchange were left out; --keep-secrets keeps them",
    )
    kept = prepare("a", "a test", recorded, keep_secrets=True)
    assert kept.url == "https://a.test/?token=abc"
    assert ("Set-Cookie", "a=b") in kept.answers[0].headers
    assert kept.changes == ()


def test_what_is_left_out_is_named_without_its_secrets():
    page = prepared(answer("https://a.test/", HTML), answer("ftp://a.test/?token=abc"))
    assert "?token=xxx left out" in page.changes[1]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"method": "GET /x HTTP/1.1\r\nHost: b"}, "cannot use its method"),
        ({"method": "TRACE"}, "cannot use its method"),
        ({"method": ""}, "cannot use its method"),
        ({"url": "https://2130706433/"}, "IP address"),
        ({"url": "https://a.0x7f/"}, "IP address"),
        ({"url": f"https://a.test/{'x' * 20_000}"}, "20015 characters"),
        ({"headers": (("a", "b"),) * 20_000}, "20000 headers"),
        ({"request_headers": (("a", "b" * 300_000),)}, "300001 bytes"),
    ],
)
def test_what_would_blame_the_testbed_later_is_left_out(wrong, reason):
    page = prepared(
        answer("https://a.test/", HTML), Recorded(**{"url": "https://a.test/x"} | wrong)
    )
    assert len(page.answers) == 1
    (change,) = page.changes
    assert " left out: " in change
    assert reason in change
    assert "\n" not in change


def test_a_body_that_unpacks_to_too_much_is_one_line_with_the_option_to_raise():
    gzipped, zeros = ("content-encoding", "gzip"), gzip.compress(b"0" * 10**8)
    start, bomb = answer("https://a.test/", HTML), answer("https://a.test/b", gzipped, wire=zeros)
    with pytest.raises(PageError, match=r"https://a.test/b .*factor .*--max-ratio 400$"):
        prepared(start, bomb)
    small = Limits(max_bytes=10**7, max_ratio=2_000)
    with pytest.raises(PageError, match=r"more than 1.25MB, an eighth .*--max-bytes 20MB$"):
        prepare("a", "a test", [start, bomb], limits=small)
    large = Limits(max_ratio=2_000)
    assert len(prepare("a", "a test", [start, bomb], limits=large).answers) == 2
