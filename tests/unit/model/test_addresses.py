"""Which hosts share an address and a certificate, and which address of the testbed each has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import made
from dragstrip.model.addresses import servers, sharing
from dragstrip.testbed.net.layout import layouts, one_each
from made_servers import page_of

A, B, C, D = "a.test", "b.test", "c.test", "d.test"
ONE, TWO = "192.0.2.1", "192.0.2.2"


def certificates(page, addresses="recorded"):
    return [dict(server.certificates) for server in servers(page, addresses)]


def test_hosts_share_what_the_recording_says_and_else_one_certificate():
    page = page_of({A: ONE, B: TWO, C: ONE, D: ""})
    assert certificates(page) == [{A: (A, C), C: (A, C)}, {B: (B,)}, {D: (D,)}]
    assert sharing(page)
    assert certificates(page, "one-each") == [{A: (A,)}, {B: (B,)}, {C: (C,)}, {D: (D,)}]


def test_what_the_recording_tells_of_certificates_counts():
    told = {A: (A, B, D), B: (B,)}
    page = page_of({A: ONE, B: ONE, C: ONE, D: TWO}, told)
    assert certificates(page) == [{A: (A, B), B: (B,), C: (C,)}, {D: (D,)}]


def test_a_host_that_a_known_certificate_covers_shows_that_one():
    page = page_of({A: ONE, B: ONE, C: ONE}, {A: (A, C)})
    assert certificates(page) == [{A: (A, C), B: (B,), C: (A, C)}]


def test_hosts_recorded_over_http1_share_no_certificate_with_others():
    page = structs.replace(
        page_of({A: ONE, B: ONE, C: ONE, D: ONE}), spoken={A: "h2", B: "h1", C: "h3", D: "h1"}
    )
    assert certificates(page) == [{A: (A, C), B: (B, D), C: (A, C), D: (B, D)}]


def test_hosts_over_http_alone_have_an_address_and_no_share_in_a_certificate():
    page = page_of({A: ONE, B: ONE, C: ONE})
    clear = structs.replace(page.resources[1], url=f"http://{B}/")
    page = structs.replace(page, resources=(page.resources[0], clear, page.resources[2]))
    assert certificates(page) == [{A: (A, C), C: (A, C), B: (B,)}]


def test_a_page_that_tells_nothing_shares_nothing():
    assert not sharing(made.PAGE)
    assert certificates(made.PAGE) == [{A: (A,)}]


def test_pages_without_shared_addresses_are_laid_out_as_ever():
    pages = [page_of({A: "", B: ""}), page_of({B: "", C: ""})]
    found = layouts(servers(page, "recorded") for page in pages)
    assert found == [one_each([A, B, C])] * 2


def test_a_certificate_covers_hosts_of_the_served_page_alone():
    """A page's handshakes must not depend on a study's other pages."""
    pages = [page_of({A: ONE, B: ONE}), page_of({B: ONE, C: ONE})]
    one, other = layouts(servers(page, "recorded") for page in pages)
    assert one.addresses == other.addresses
    assert one.certificates == {A: (A, B), B: (A, B)}
    assert other.certificates == {B: (B, C), C: (B, C)}


@st.composite
def studies(draw):
    hosts = st.sampled_from([f"{letter}.test" for letter in "abcdef"])
    ips = st.sampled_from(["", ONE, TWO, "192.0.2.3"])
    return [page_of(of) for of in draw(st.lists(st.dictionaries(hosts, ips, min_size=1)))]


@given(studies())
def test_hosts_of_a_page_have_one_address_exactly_if_they_share_one(pages):
    found = layouts(servers(page, "recorded") for page in pages)
    for page, layout in zip(pages, found, strict=True):
        groups = [{layout.addresses[h] for h in s.hosts} for s in servers(page, "recorded")]
        assert all(len(group) == 1 for group in groups)
        assert len(set.union(*groups)) == len(groups)
        for host, names in layout.certificates.items():
            assert {layout.addresses[name] for name in names} == {layout.addresses[host]}


@pytest.mark.parametrize("apart", [{A: ONE, B: TWO}, {A: "", B: ""}])
def test_pages_that_disagree_have_addresses_of_their_own(apart):
    together = {A: ONE, B: ONE}
    pages = [page_of(together), page_of(apart), page_of(together)]
    first, second, third = layouts(servers(page, "recorded") for page in pages)
    assert first == third
    assert first.addresses[A] == first.addresses[B]
    assert second.addresses[A] != second.addresses[B]
