"""Pages keep the addresses and certificates of the servers they were recorded from."""

import json

import pytest

from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.format.recorded_servers import covered, normal, settled
from dragstrip.pages.format.recording import EPOCH, Certificate, PageError, Recorded, Recording
from dragstrip.pages.generators.synth import synth
from dragstrip.pages.resolve import import_page
from recordings import entry, har, mahimahi, warc

URLS = ("https://a.test/", "https://b.test/1.jpg", "https://c.test/2.jpg")


def exchange(url, **more):
    mime = "text/html" if url == URLS[0] else "image/jpeg"
    return entry(url, 10.0 * URLS.index(url), mime=mime, size=900) | more


def imported(tmp_path, *entries, name="site.har"):
    (tmp_path / name).write_bytes(har(*entries))
    return import_page(tmp_path / name, tmp_path / "site.har.zip")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        (" 192.0.2.1:443 ", "192.0.2.1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("[2001:db8:0::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("a.test", ""),
        ("(proxy)", ""),
        ("", ""),
    ],
)
def test_an_address_has_one_spelling(text, address):
    assert normal(text) == address


def test_a_har_tells_addresses_in_its_own_field_and_webpagetest_in_another(tmp_path):
    page = imported(
        tmp_path,
        exchange(URLS[0], serverIPAddress="[2001:db8::1]"),
        exchange(URLS[1], _ip_addr="2001:DB8::1"),
        exchange(URLS[2], serverIPAddress=""),
    )
    assert page.addresses == {"a.test": "2001:db8::1", "b.test": "2001:db8::1"}
    assert load_page(page.path) == page


def test_warcs_and_mahimahi_folders_tell_addresses(tmp_path):
    told = warc().replace(b"WARC-Date", b"WARC-IP-Address: 192.0.2.1\r\nWARC-Date")
    (tmp_path / "site.warc").write_bytes(told)
    page = import_page(tmp_path / "site.warc", tmp_path / "warc.har.zip")
    assert page.addresses == {"a.test": "192.0.2.1"}
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "save.1").write_bytes(mahimahi("/", "text/html", b"<p>"))
    page = import_page(tmp_path / "folder", tmp_path / "folder.har.zip")
    assert page.addresses == {"a.test": "10.0.0.1"}


def test_a_host_of_several_addresses_keeps_the_one_that_answered_most_often(tmp_path):
    page = imported(
        tmp_path,
        exchange(URLS[0], serverIPAddress="192.0.2.9"),
        *(exchange(URLS[1], serverIPAddress=f"192.0.2.{n}") for n in (1, 2, 2)),
        *(exchange(URLS[2], serverIPAddress=f"192.0.2.{n}") for n in (4, 3)),
    )
    assert page.addresses == {"a.test": "192.0.2.9", "b.test": "192.0.2.2", "c.test": "192.0.2.4"}
    (said,) = (c for c in page.changes if "several addresses" in c)
    assert "b.test 2, c.test 2" in said


def test_a_proxy_on_the_recorders_machine_is_no_server(tmp_path):
    here = (exchange(url, serverIPAddress="127.0.0.1") for url in URLS)
    page = imported(tmp_path, *here)
    assert page.addresses == {}
    assert any("127.0.0.1" in change for change in page.changes)
    assert settled([("a.test", "::1"), ("a.test", "192.0.2.1")])[0] == ["", "192.0.2.1"]


def details(*names, **more):
    return {"_securityDetails": {"subjectName": names[0], "sanList": [*names], **more}}


def test_a_har_tells_whom_certificates_cover(tmp_path):
    page = imported(
        tmp_path,
        exchange(URLS[0], **details("a.test", "*.test", validFrom=1)),
        exchange(URLS[1], **details("b.test", validFrom=2)),
        exchange(URLS[2]),
    )
    assert page.certificates == {
        "a.test": ("a.test", "b.test", "c.test"),
        "b.test": ("b.test",),
    }


def test_a_certificate_told_by_its_subject_alone_covers_those_who_showed_it(tmp_path):
    """Playwright writes certificates so; a CDN may use one subject for the certificates of all."""
    same = {"subjectName": "sni.cdn.test", "issuer": "CA", "validFrom": 1}
    page = imported(
        tmp_path,
        exchange(URLS[0], _securityDetails=same),
        exchange(URLS[1], _securityDetails=same),
        exchange(URLS[2], _securityDetails=same | {"validFrom": 2}),
    )
    assert page.certificates == {
        "a.test": ("a.test", "b.test"),
        "b.test": ("a.test", "b.test"),
        "c.test": ("c.test",),
    }


def test_a_wildcard_stands_for_one_label():
    shown = [("a.test", Certificate("1", ("a.test", "*.a.test")))]
    hosts = ("a.test", "x.a.test", "y.x.a.test", "b.test")
    assert covered(shown, hosts) == {"a.test": ("a.test", "x.a.test")}


def test_a_page_that_tells_nothing_has_the_bytes_it_had(tmp_path):
    page = write_page(tmp_path / "synth.har.zip", synth("2x1KB@2"))
    assert page.digest == "c3f9d6a21cd6"
    assert not page.addresses


def test_an_address_that_is_none_is_refused_by_its_place(tmp_path):
    answer = Recorded(url=URLS[0], server_ip="nowhere", wire=b"<p>", started=EPOCH)
    with pytest.raises(PageError, match=r"entries\[0\]\.serverIPAddress 'nowhere'"):
        write_page(
            tmp_path / "page.har.zip",
            Recording(name="page", url=URLS[0], source="made", answers=(answer,)),
        )


@pytest.mark.parametrize("details", [1, "x", {}, {"subjectName": 1}, {"sanList": [None, 3]}])
def test_a_har_may_hold_nonsense_for_a_certificate(tmp_path, details):
    assert imported(tmp_path, exchange(URLS[0], _securityDetails=details)).certificates == {}


def test_the_file_holds_them_where_the_format_says(tmp_path):
    from zipfile import ZipFile

    page = imported(tmp_path, exchange(URLS[0], serverIPAddress="192.0.2.1", **details("a.test")))
    with ZipFile(page.path) as archive:
        log = json.loads(archive.read("har.har"))["log"]
    assert log["entries"][0]["serverIPAddress"] == "192.0.2.1"
    assert log["_dragstrip"]["certificates"] == {"a.test": ["a.test"]}
