"""Writes a visit's packets to a pcapng file that needs no other file to decrypt it.

The link records a packet when it has sent or dropped it. This module sorts packets by time and puts
the TLS secrets before them in a Decryption Secrets Block, where Wireshark and tshark look for them
(draft-ietf-opsawg-pcapng section 4.7).
"""

import struct
from collections.abc import Iterator
from pathlib import Path

_ENHANCED_PACKET, _SECRETS = 6, 10
_TLS_KEY_LOG = 0x544C534B


def keep_packets(record: Path, keys: bytes, target: Path) -> None:
    """Turn the link's file `record` into ``target.pcapng`` and ``target.keys``, and remove it.

    `keys` is the content of an SSLKEYLOGFILE (draft-ietf-tls-keylogfile).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{target}.pcapng").write_bytes(with_keys(record.read_bytes(), keys))
    Path(f"{target}.keys").write_bytes(keys)
    record.unlink()


def with_keys(capture: bytes, keys: bytes) -> bytes:
    """Return the capture with its packets sorted by time, and the keys before the first packet."""
    head: list[bytes] = []
    packets: list[tuple[int, bytes]] = []
    for block in _blocks(capture):
        (kind,) = struct.unpack_from("<I", block)
        if kind == _ENHANCED_PACKET:
            high, low = struct.unpack_from("<II", block, 12)
            packets.append((high << 32 | low, block))
        else:
            head.append(block)
    packets.sort(key=lambda packet: packet[0])
    return b"".join([*head, _secrets(keys), *(block for _, block in packets)])


def _blocks(capture: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(capture):
        (length,) = struct.unpack_from("<I", capture, at + 4)
        yield capture[at : at + length]
        at += length


def _secrets(keys: bytes) -> bytes:
    if not keys:
        return b""
    body = struct.pack("<II", _TLS_KEY_LOG, len(keys)) + keys + b"\0" * (-len(keys) % 4)
    length = len(body) + 12
    return struct.pack("<II", _SECRETS, length) + body + struct.pack("<I", length)
