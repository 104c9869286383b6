"""A study with impossible visits is refused before the first one, in one sentence."""

import pytest
from msgspec import structs

import made
from dragstrip.model.effects import HostPath
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.study.possible import check
from dragstrip.study.presets import find_stack
from made_servers import page_of

H2, H3, GQUIC = find_stack("h2"), find_stack("h3"), find_stack("gQUIC")
SPDY, OLD_H2 = find_stack("SPDY"), find_stack("h2-chromium53-origin")


def at_port(port: int = 8443, url: str = "https://a.test:{}/x") -> Page:
    other = structs.replace(made.PAGE.resources[1], url=url.format(port))
    return structs.replace(made.PAGE, resources=(*made.PAGE.resources, other))


def to_host(host: str) -> Network:
    down = structs.replace(made.LTE.down, hosts=(HostPath(host=host, delay_ms=10),))
    return structs.replace(made.LTE, down=down)


@pytest.mark.parametrize(
    ("stacks", "live", "frames", "network", "why"),
    [
        ((H2, find_stack("TCP+")), True, False, made.LTE, "differ only in protocol"),
        ((H2, GQUIC), True, False, made.LTE, "'gQUIC' asks for server gquic-origin: on a live"),
        ((SPDY, H2), True, False, made.LTE, "'SPDY' asks for server node-spdy: on a live page"),
        (
            (OLD_H2, H3),
            True,
            False,
            made.LTE,
            "Chromium 53 of August 2016 can reach only the hosts",
        ),
        ((SPDY, H2), False, True, made.LTE, "'SPDY': Chromium 53 of August 2016 records no frames"),
        ((H2, H3), False, False, to_host("b.test"), "names b.test, which no page here has"),
    ],
)
def test_what_is_impossible_is_refused(stacks, live, frames, network, why):
    with pytest.raises(InputError, match=why):
        asked([network], stacks, Client(frames=frames), live=live)


def test_a_browser_that_records_no_main_thread_is_refused_if_that_is_asked_for():
    client = Client(main_thread=True)
    with pytest.raises(InputError, match="Chromium 53 of August 2016 records no main thread"):
        asked([made.LTE], (SPDY, H2), client)
    assert asked([made.LTE], (H2, H3), client) is None


def test_what_is_possible_is_not():
    for stacks in ((SPDY, OLD_H2), (find_stack("SPDY-netty"), GQUIC)):
        assert asked([to_host("a.test")], stacks, Client()) is None
    assert asked([made.LTE], (H2, H3), Client(frames=True), live=True) is None


def test_hosts_at_one_address_cannot_have_two_paths():
    page = page_of({"a.test": "192.0.2.1", "b.test": "192.0.2.1", "c.test": "192.0.2.2"})
    with pytest.raises(InputError, match=r"a\.test and b\.test different paths.*one-each"):
        asked([to_host("b.test")], (H2, H3), Client(), pages=[page])
    assert asked([to_host("c.test")], (H2, H3), Client(), pages=[page]) is None
    own = {"pages": [page], "addresses": "one-each"}
    assert asked([to_host("b.test")], (H2, H3), Client(), **own) is None


def test_early_hints_need_something_to_name(tmp_path):
    bare = write_page(tmp_path / "bare.har.zip", document(b"<p>"))
    styled = write_page(
        tmp_path / "styled.har.zip",
        document(b"<link rel=stylesheet href=a.css>", Recorded(url="https://a.test/a.css")),
    )
    hints = structs.replace(H2, name="hints", early_hints="blocking")
    links = structs.replace(hints, early_hints="link")
    for stack, page, lacks in ((hints, bare, "no style sheet"), (links, styled, "no link header")):
        with pytest.raises(InputError, match=f"'hints' has early_hints .* {lacks}"):
            asked([made.LTE], (H2, stack), Client(), pages=[page])
    assert asked([made.LTE], (H2, hints), Client(), pages=[styled]) is None


def document(body: bytes, *others: Recorded) -> Recording:
    html = Recorded(url="https://a.test/", headers=(("content-type", "text/html"),), wire=body)
    sheets = [structs.replace(o, headers=(("content-type", "text/css"),)) for o in others]
    return Recording(name="p", url=html.url, source="made up", answers=[html, *sheets])


def asked(networks, stacks, client, *, pages=(made.PAGE,), addresses="recorded", live=False):
    return check(networks, stacks, client, pages=pages, addresses=addresses, live=live)


def test_only_our_origin_answers_at_a_pages_own_ports():
    ours = (H2, H3, find_stack("h3-altsvc"))
    ask = {"pages": [at_port()], "addresses": "one-each", "live": False}
    assert check([made.LTE], ours, Client(), **ask) is None
    for name, why in (
        ("nginx-h2", "asked for at port 8443, and server nginx answers at one port only"),
        ("as-recorded", "asked for at port 8443, and the browser speaks a recorded protocol only"),
    ):
        with pytest.raises(InputError, match=why):
            check([made.LTE], (find_stack(name),), Client(), **ask)


def test_one_port_for_http_and_https_is_refused():
    both = at_port(url="http://a.test:{}/x")
    both = structs.replace(both, resources=(*both.resources, at_port().resources[-1]))
    with pytest.raises(InputError, match="by http and by https at port 8443"):
        check([made.LTE], (H2,), Client(), pages=[both], addresses="one-each", live=False)
