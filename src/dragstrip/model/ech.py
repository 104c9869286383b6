"""Keys of Encrypted Client Hello (ECH, RFC 9849).

A client encrypts the ClientHello with the true name under a key that the name's HTTPS record tells
(RFC 9848), and puts it into another one that names only `PUBLIC_NAME`. The keys are the same in
every testbed: they protect nothing.
"""

from typing import Literal

from msgspec import Struct

Ech = Literal["none", "keys", "stale-keys"]
"""See `Stack.ech`."""

PUBLIC_NAME = "public.ech.test"
"""The name that an observer sees, and for which a server has a certificate if it lacks the key."""

_VERSION = 0xFE0D
_X25519, _HKDF_SHA256, _AES_128_GCM = 0x0020, 0x0001, 0x0001
"""Algorithms of HPKE (RFC 9180, section 7)."""


class EchKey(Struct, frozen=True, kw_only=True):
    """A key pair of X25519 with its number."""

    number: int
    private: bytes
    public: bytes

    @property
    def config(self) -> bytes:
        """The key as an ECHConfig (RFC 9849, section 4)."""
        contents = (
            self.number.to_bytes(1)
            + _X25519.to_bytes(2)
            + _vector(self.public, 2)
            + _vector(_HKDF_SHA256.to_bytes(2) + _AES_128_GCM.to_bytes(2), 2)
            + (0).to_bytes(1)  # clients pad names as they like
            + _vector(PUBLIC_NAME.encode(), 1)
            + _vector(b"", 2)
        )
        return _VERSION.to_bytes(2) + _vector(contents, 2)

    @property
    def list(self) -> bytes:
        """An ECHConfigList with this key alone, as HTTPS records have it."""
        return _vector(self.config, 2)


def _vector(data: bytes, length_bytes: int) -> bytes:
    return len(data).to_bytes(length_bytes) + data


OWN = EchKey(
    number=1,
    private=bytes(range(1, 33)),
    public=bytes.fromhex("07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c"),
)
"""The key that a server has."""
STALE = EchKey(
    number=2,
    private=bytes(range(101, 133)),
    public=bytes.fromhex("5714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36"),
)
"""A key that the server has no more. A client that uses it gets `OWN`, and connects again."""


def announced(ech: Ech) -> bytes:
    """Return the ECHConfigList of a stack's HTTPS records; empty for none."""
    return {"none": b"", "keys": OWN.list, "stale-keys": STALE.list}[ech]
