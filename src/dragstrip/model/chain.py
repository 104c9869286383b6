"""What a handshake carries: key share and certificate chain."""

from typing import Literal

from msgspec import Struct

KeyShare = Literal["X25519", "X25519MLKEM768", "P-256"]
"""The group in which client and server exchange keys."""

CertificateKind = Literal[
    "ecdsa", "rsa", "ml-dsa-44", "ml-dsa-65", "ml-dsa-44-size", "ml-dsa-65-size"
]
"""Keys and signatures of a certificate chain: ECDSA with P-256, RSA with 2048 bits, ML-DSA (FIPS
204); or ECDSA with random bytes, until the handshake is as long as with ML-DSA."""

CertificateCompression = Literal["none", "brotli", "zlib"]
"""Compression of the certificate message (RFC 8879)."""

ML_DSA = ("ml-dsa-44", "ml-dsa-65")
"""Kinds that only the load generator verifies."""

_KINDS = {
    0x0401: "rsa",
    0x0501: "rsa",
    0x0601: "rsa",
    0x0804: "rsa",
    0x0805: "rsa",
    0x0806: "rsa",
    0x0403: "ecdsa",
    0x0503: "ecdsa",
    0x0603: "ecdsa",
    0x0904: "ml-dsa-44",
    0x0905: "ml-dsa-65",
}
"""Kinds of keys by the signature's scheme in TLS's registry."""
_GROUPS = {0x001D: "X25519", 0x11EC: "X25519MLKEM768", 0x0017: "P-256", 0x0018: "P-384"}


class Chain(Struct, frozen=True, kw_only=True):
    """A certificate chain in the words of the origin, see the fields of `Stack`."""

    kind: CertificateKind = "ecdsa"
    length: int = 2
    bytes: int | None = None
    scts: int = 0
    staple_bytes: int = 0


def signer(scheme: int | None) -> str:
    """The kind of key behind a signature, by its scheme's number; empty for None."""
    return _KINDS.get(scheme, f"{scheme:#06x}") if scheme else ""


def group(number: int | None) -> str:
    """Name of a group by its number in TLS's registry; empty for None."""
    return _GROUPS.get(number, f"{number:#06x}") if number else ""
