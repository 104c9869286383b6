"""Keys of Encrypted Client Hello: each pair is one, and a record's bytes say what they should."""

import pytest

from dragstrip.model.ech import OWN, PUBLIC_NAME, STALE, announced

PRIME = 2**255 - 19


def x25519(private: bytes) -> bytes:
    """The public key, by the ladder of RFC 7748, section 5."""
    scalar = int.from_bytes(private, "little") & ~7 & (2**255 - 1) | 2**254
    x2, z2, x3, z3 = 1, 0, 9, 1
    for bit in (scalar >> i & 1 for i in reversed(range(255))):
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        e = a * a - b * b
        x3, z3 = pow(d * a + c * b, 2, PRIME), 9 * pow(d * a - c * b, 2, PRIME) % PRIME
        x2, z2 = a * a * b * b % PRIME, e * (a * a + 121665 * e) % PRIME
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, -1, PRIME) % PRIME).to_bytes(32, "little")


@pytest.mark.parametrize("key", [OWN, STALE])
def test_the_public_key_is_that_of_the_private_key(key):
    assert x25519(key.private) == key.public


@pytest.mark.parametrize(("ech", "key"), [("keys", OWN), ("stale-keys", STALE)])
def test_a_record_has_one_key(ech, key):
    said = announced(ech)
    assert int.from_bytes(said[:2]) == len(said) - 2
    assert said[2:4] == b"\xfe\x0d"
    assert int.from_bytes(said[4:6]) == len(said) - 6
    assert said[6] == key.number
    assert key.public in said
    assert PUBLIC_NAME.encode() in said
    assert said[2:] == key.config


def test_a_stack_without_it_has_no_key():
    assert announced("none") == b""
    assert OWN.number != STALE.number
    assert OWN.public != STALE.public
