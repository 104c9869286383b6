"""A page may use the ports that its URLs name, and no others."""

import pytest
from msgspec import structs

import made
from dragstrip.model.sockets import Socket
from dragstrip.model.visit import Visit
from dragstrip.verdict.path_checks import origin

OWN = "https://a.test:8443/x.png"
HOME = made.PLACE.rpartition(":")[0]


def to_port(visit: Visit, port: int, **end: object) -> Visit:
    """The visit with packets up to this port of the page's address."""
    assert visit.link
    up = visit.link.up
    ends = (*(up.far_ends or ()), made.far_end(address=HOME, port=port, **end))
    return structs.replace(
        visit, link=structs.replace(visit.link, up=structs.replace(up, far_ends=ends))
    )


def asking(url: str = OWN, **last: object) -> Visit:
    base = made.visit()
    *before, one = base.requests
    return structs.replace(base, requests=(*before, structs.replace(one, url=url, **last)))


def against(visit: Visit) -> list[str]:
    return [reason.detail for reason in origin(visit, made.LTE)]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_port_that_a_url_names_is_the_pages_own(transport):
    answered = asking(remote_ip=HOME, remote_port=8443)
    assert against(to_port(answered, 8443, transport=transport)) == []
    refused = asking(protocol=None, error="net::ERR_CONNECTION_REFUSED", remote_ip="")
    assert against(to_port(refused, 8443, transport=transport)) == []


def test_so_is_the_port_of_a_socket():
    socket = Socket(url="wss://a.test:9000/live", host="a.test", start_ms=1.0)
    visit = structs.replace(made.visit(), sockets=(socket,))
    assert against(to_port(visit, 9000, transport="tcp")) == []


def test_packets_to_a_port_that_no_url_names_went_elsewhere():
    visit = asking(remote_ip=HOME, remote_port=8443)
    (why,) = against(to_port(visit, 8444, transport="udp"))
    assert f"went elsewhere, or came from it: {HOME}:8444 (udp)" in why
    (why,) = against(to_port(visit, 53, transport="udp"))
    assert "names were looked up" in why


def test_an_answer_from_another_port_than_its_urls_is_a_lie():
    for url, port in ((OWN, 443), (made.PAGE.url, 8443)):
        (why,) = against(asking(url, remote_ip=HOME, remote_port=port))
        assert f"{url} by {HOME}:{port}" in why
