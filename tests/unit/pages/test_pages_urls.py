"""URLs the origin can serve, and a reason for each that it cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.pages.format.urls import Unservable, servable


@pytest.mark.parametrize(
    ("recorded", "served"),
    [
        ("http://www.a.test", "https://www.a.test/"),
        ("http://www.a.test:80/x", "https://www.a.test/x"),
        ("https://WWW.A.test:443/X?y=Z#part", "https://www.a.test/X?y=Z"),
        ("https://a.test/?", "https://a.test/?"),
        ("https://a.test/a b\u00e9?c=\u00fc", "https://a.test/a%20b%C3%A9?c=%C3%BC"),
        ("https://a.test/%7e%2F?a=%26", "https://a.test/%7e%2F?a=%26"),
        ("https://b\u00fccher.test/", "https://xn--bcher-kva.test/"),
        ("https://my_img.a.test/", "https://my_img.a.test/"),
        ("https://user:secret@a.test/", "https://a.test/"),
        ("https://a.test:8443/x", "https://a.test:8443/x"),
        ("http://a.test:8080/", "https://a.test:8080/"),
        ("http://a.test:443/", "https://a.test/"),
    ],
)
def test_the_url_that_is_served(recorded, served):
    assert servable(recorded) == served


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        ("http://66.102.255.57/", "IP address"),
        ("https://[2001:db8::1]/", "IP address"),
        ("https://a.test:80/", "port 80 is another scheme's"),
        ("http://localhost:3000/", "their own machine"),
        ("https://app.localhost/", "their own machine"),
        ("dns:a.test", "scheme dns"),
        ("https://a..test/", "not a URL|DNS name"),
        ("https:///x", "DNS name"),
        ("https://a.test:99999/", "not a URL"),
        ("https://[a.test/", "not a URL"),
        ("", "scheme"),
    ],
)
def test_why_a_url_is_not_served(recorded, reason):
    with pytest.raises(Unservable, match=reason):
        servable(recorded)


@given(st.text(max_size=40).map(lambda tail: f"https://a.test/{tail}") | st.text(max_size=40))
def test_serving_changes_a_url_only_once(url):
    try:
        served = servable(url)
    except Unservable:
        return
    assert served.startswith("https://")
    assert served.isascii()
    assert "#" not in served
    assert servable(served) == served
