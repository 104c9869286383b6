"""A capture keeps every packet, in the order of their times, behind the keys that read it."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from dragstrip.visit.packets import keep_packets, with_keys

HEADER, INTERFACE, PACKET, SECRETS = 0x0A0D0D0A, 1, 6, 10


def block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def packet(time_ns: int, side: int = 0) -> bytes:
    return block(PACKET, struct.pack("<IIIII", side, time_ns >> 32, time_ns & 0xFFFFFFFF, 0, 0))


HEAD = block(HEADER, b"\x4d\x3c\x2b\x1a" + b"\x01" + b"\0" * 11) + block(INTERFACE, b"\0" * 8)


def kinds(capture: bytes) -> list[int]:
    found, at = [], 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        assert capture[at + length - 4 : at + length] == struct.pack("<I", length)
        found.append(kind)
        at += length
    return found


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.binary(max_size=40))
def test_packets_are_sorted_and_nothing_else_is_changed(times, keys):
    whole = with_keys(HEAD + b"".join(packet(t, i % 2) for i, t in enumerate(times)), keys)
    wanted = sorted(enumerate(times), key=lambda each: each[1])
    assert whole.startswith(HEAD)
    assert whole.endswith(b"".join(packet(t, i % 2) for i, t in wanted))
    secrets = [SECRETS] if keys else []
    assert kinds(whole) == [HEADER, INTERFACE, *secrets, *[PACKET] * len(times)]


def test_keys_stand_in_the_capture_and_beside_it(tmp_path):
    record, target = tmp_path / "record.pcapng", tmp_path / "pcap" / "a visit"
    record.write_bytes(HEAD + packet(5))
    keys = b"CLIENT_RANDOM 00 11\n"
    keep_packets(record, keys, target)
    assert target.with_suffix(".keys").read_bytes() == keys
    assert (
        struct.pack("<II", 0x544C534B, len(keys)) + keys
        in target.with_suffix(".pcapng").read_bytes()
    )
    assert not record.exists()
