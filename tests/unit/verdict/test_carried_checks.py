"""Content of handshakes: each lie is caught, and an honest stack passes."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.carried_checks import carried

SIZES = {
    "ecdsa": 1040,
    "rsa": 1870,
    "ml-dsa-44": 8290,
    "ml-dsa-65": 11_350,
    "ml-dsa-44-size": 10_640,
    "ml-dsa-65-size": 14_590,
}


def stack(name: str = "h3", **fields: object) -> Stack:
    if "ech" in fields:
        return structs.replace(find_stack("quic-go-h2"), browser="chromium", **fields)
    kind = str(fields.get("certificate", "ecdsa"))
    client = {"browser": "loader"} if kind in ("ml-dsa-44", "ml-dsa-65") else {}
    return structs.replace(find_stack(name), **client, **fields)


def visit(of: Stack, **lie: object) -> Visit:
    """A visit whose log and browser agree with the stack, except for the lie."""
    base = made.visit(of.protocol)
    log = {
        "key_share": of.key_share,
        "certificate": of.certificate,
        "chain_length": of.chain_length,
        "scts": of.scts,
        "staple_bytes": of.staple_bytes,
        "certificate_compression": of.certificate_compression,
        "certificate_bytes": SIZES[of.certificate] * of.chain_length // 2,
        "retried": of.retry,
        "ech": of.ech != "none",
        **lie,
    }
    (connection,) = base.connections
    return structs.replace(base, connections=(structs.replace(connection, **log),))


def reported(of: Stack, **said: object) -> Visit:
    """An honest visit whose browser reports these fields of the first request."""
    honest = visit(of)
    first, *rest = honest.requests
    return structs.replace(honest, requests=(structs.replace(first, **said), *rest))


def details(seen: Visit, of: Stack) -> list[str]:
    found = tuple(carried(seen, of))
    assert {r.code for r in found} <= {"stack-drift"}
    return [r.detail for r in found]


HONEST = [
    {},
    {"key_share": "X25519MLKEM768"},
    {"certificate": "rsa", "chain_length": 4},
    {"certificate": "ml-dsa-44"},
    {"certificate": "ml-dsa-65", "chain_length": 3},
    {"certificate": "ml-dsa-44-size"},
    {"certificate": "ml-dsa-65-size", "certificate_compression": "brotli"},
    {"scts": 3, "staple_bytes": 500},
    {"retry": True},
    {"ech": "keys"},
    {"ech": "stale-keys"},
]


@pytest.mark.parametrize("fields", HONEST)
def test_an_honest_handshake_is_believed(fields):
    of = stack(**fields)
    assert details(visit(of), of) == []
    assert details(visit(of, staple_bytes=(of.staple_bytes or -40) + 40), of) == []
    keys = "ecdsa" if of.certificate.endswith("-size") else of.certificate
    hidden = of.ech != "none"
    assert details(reported(of, key_share=of.key_share, signed_by=keys, ech=hidden), of) == []


@pytest.mark.parametrize(
    ("fields", "lie", "said"),
    [
        ({"key_share": "X25519MLKEM768"}, {"key_share": "X25519"}, "in X25519, not X25519MLKEM768"),
        ({}, {"key_share": "X25519MLKEM768"}, "in X25519MLKEM768, not X25519"),
        ({"certificate": "rsa"}, {"certificate": "ecdsa"}, "certificates are ecdsa, not rsa"),
        ({"certificate": "ml-dsa-44-size"}, {"certificate": "ecdsa"}, "ecdsa, not ml-dsa-44-size"),
        ({"certificate": "ml-dsa-65"}, {"certificate_bytes": 8290}, "8290 bytes, and ml-dsa-65"),
        ({"certificate": "ml-dsa-44-size"}, {"certificate_bytes": 1040}, "1040 bytes, and ml-dsa"),
        ({"chain_length": 4}, {"chain_length": 2}, "the chain has 2 certificates, not 4"),
        ({}, {"chain_length": 3}, "the chain has 3 certificates, not 2"),
        ({"scts": 3}, {"scts": 0}, "the leaf has 0 SCTs, not 3"),
        ({"staple_bytes": 900}, {"staple_bytes": 0}, "the OCSP staple has 0 bytes, not 900"),
        ({}, {"staple_bytes": 900}, "the OCSP staple has 900 bytes, not 0"),
        (
            {"certificate_compression": "brotli"},
            {"certificate_compression": "none"},
            "the certificates' compression is none, not brotli",
        ),
        ({}, {"certificate_compression": "zlib"}, "compression is zlib, not none"),
        ({"retry": True}, {"retried": False}, "no Retry was sent to the client of a.test"),
        ({"ech": "keys"}, {"ech": False}, "the ClientHello was not encrypted"),
        ({"ech": "stale-keys"}, {"ech": False}, "the ClientHello was not encrypted"),
        ({}, {"ech": True}, "the ClientHello was encrypted"),
        ({}, {"retried": True}, "1 connections got a Retry, but the stack has none"),
    ],
)
def test_each_lie_of_the_server_is_drift(fields, lie, said):
    of = stack(**fields)
    (detail,) = details(visit(of, **lie), of)
    assert said in detail


@pytest.mark.parametrize(
    ("fields", "told", "said"),
    [
        ({"key_share": "X25519MLKEM768"}, {"key_share": "X25519"}, "not X25519MLKEM768"),
        ({"certificate": "rsa"}, {"signed_by": "ecdsa"}, "signed with ecdsa, not rsa"),
        ({"certificate": "ml-dsa-44-size"}, {"signed_by": "ml-dsa-44"}, "not ecdsa"),
        ({"certificate": "rsa"}, {"certificate_bytes": 1040}, "1040 bytes, and rsa has 1200"),
        ({"certificate_bytes": 4000}, {"certificate_bytes": 1040}, "1040 bytes, not 4000"),
        ({}, {"ech": True}, "the ClientHello was encrypted"),
    ],
)
def test_the_browser_catches_what_the_log_hides(fields, told, said):
    of = stack("h2", **fields)
    (detail,) = details(reported(of, **told), of)
    assert said in detail
    assert "as the browser reports of 1 requests" in detail


SILENT = dict.fromkeys(
    (
        "key_share",
        "certificate",
        "chain_length",
        "scts",
        "staple_bytes",
        "certificate_compression",
        "certificate_bytes",
        "retried",
        "ech",
    )
)


@pytest.mark.parametrize("fields", HONEST)
def test_an_old_capsule_says_nothing(fields):
    of = stack(**fields)
    assert details(visit(of, **SILENT), of) == []


def test_a_resumed_handshake_shows_no_certificate():
    of = stack(certificate="rsa", chain_length=4, staple_bytes=900)
    resumed = {**SILENT, "key_share": "X25519", "resumed": True}
    assert details(visit(of, **resumed), of) == []


def test_another_server_exchanges_keys_as_it_likes():
    of = find_stack("nginx-h3")
    assert details(reported(of, key_share="X25519MLKEM768", signed_by="ecdsa"), of) == []


def test_chromium_proves_the_kind_of_another_servers_certificate_and_firefox_cannot():
    of = structs.replace(find_stack("nginx-h2"), certificate="rsa")
    assert details(reported(of, signed_by="rsa"), of) == []
    (lie,) = details(reported(of, signed_by="ecdsa"), of)
    assert "the server signed with ecdsa, not rsa" in lie
    assert details(reported(of, signed_by=""), of) == []  # as Firefox reports


def test_a_client_with_a_token_gets_no_retry():
    of = stack(retry=True)
    again = structs.replace(visit(of, retried=False), connection="repeat")
    assert details(again, of) == []
    first = visit(of)
    (connection,) = first.connections
    second = structs.replace(connection, id=2, t_us=connection.t_us + 1, retried=False)
    assert details(structs.replace(first, connections=(connection, second)), of) == []
    early = structs.replace(second, t_us=connection.t_us - 1)
    assert len(details(structs.replace(first, connections=(connection, early)), of)) == 1
