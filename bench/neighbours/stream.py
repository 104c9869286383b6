"""A stream for a player: fragmented MP4 with FLAC, cut into pieces by an HLS playlist (RFC 8216).

It is sound, noise that FLAC stores as it is, so the bytes are known without an encoder. A player
loads it as it loads video. The boxes are those of ISO/IEC 14496-12, the frames those of RFC 9639.
"""

import functools
import random
import struct
from collections.abc import Mapping

PIECES = 5
SECONDS = 4
RATE = 48_000
CODECS = 'audio/mp4; codecs="flac"'
_SAMPLES, _CHANNELS, _BYTES = 4096, 2, 2
_FRAMES = SECONDS * RATE // _SAMPLES
"""Frames of a piece; the rest of its last second is left out."""


@functools.cache
def files() -> Mapping[str, tuple[str, bytes]]:
    """Path to type and content."""
    noise = random.Random(1)
    pieces = {f"stream-{n}.m4s": _piece(n, noise) for n in range(PIECES)}
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{SECONDS}"]
    lines += ["#EXT-X-PLAYLIST-TYPE:VOD", '#EXT-X-MAP:URI="stream-init.mp4"']
    lasts = _FRAMES * _SAMPLES / RATE
    for name in pieces:
        lines += [f"#EXTINF:{lasts:.6f},", name]
    playlist = "".join(f"{line}\n" for line in [*lines, "#EXT-X-ENDLIST"])
    return {
        "stream.m3u8": ("application/vnd.apple.mpegurl", playlist.encode()),
        "stream-init.mp4": ("audio/mp4", _beginning()),
        **{name: ("audio/mp4", body) for name, body in pieces.items()},
    }


def _beginning() -> bytes:
    unity = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    movie = struct.pack(">IIIIIH10x", 0, 0, RATE, 0, 0x10000, 0x100) + unity
    track = struct.pack(">IIIII8xHHHH", 0, 0, 1, 0, 0, 0, 0, 0x100, 0) + unity + bytes(8)
    info = struct.pack(">HH6x", _SAMPLES, _SAMPLES)
    info += (RATE << 44 | (_CHANNELS - 1) << 41 | (8 * _BYTES - 1) << 36).to_bytes(8, "big")
    about = struct.pack(">B3s", 0x80, len(info + bytes(16)).to_bytes(3, "big")) + info + bytes(16)
    sound = struct.pack(">6xH8xHHHHI", 1, _CHANNELS, 8 * _BYTES, 0, 0, RATE << 16)
    entry = _box("fLaC", sound + _full("dfLa", about))
    empty = [_full(kind, bytes(4)) for kind in ("stts", "stsc", "stco")]
    table = _box("stbl", _full("stsd", _count(1) + entry), *empty, _full("stsz", bytes(8)))
    here = _box("dinf", _full("dref", _count(1) + _full("url ", b"", flags=1)))
    media = _box(
        "mdia",
        _full("mdhd", struct.pack(">IIIIHH", 0, 0, RATE, 0, 0x55C4, 0)),
        _full("hdlr", bytes(4) + b"soun" + bytes(13)),
        _box("minf", _full("smhd", bytes(4)), here, table),
    )
    return _box("ftyp", b"iso5" + bytes(4) + b"iso5mp41") + _box(
        "moov",
        _full("mvhd", movie + bytes(24) + _count(2)),
        _box("trak", _full("tkhd", track, flags=3), media),
        _box("mvex", _full("trex", struct.pack(">IIIII", 1, 1, _SAMPLES, 0, 0))),
    )


def _piece(number: int, noise: random.Random) -> bytes:
    first = number * _FRAMES
    frames = [_frame(first + n, noise) for n in range(_FRAMES)]
    run = struct.pack(f">{_FRAMES}I", *map(len, frames))

    def moof(at: int) -> bytes:
        traf = _box(
            "traf",
            _full("tfhd", _count(1), flags=0x20000),
            _full("tfdt", struct.pack(">Q", first * _SAMPLES), version=1),
            _full("trun", struct.pack(">II", _FRAMES, at) + run, flags=0x201),
        )
        return _box("moof", _full("mfhd", _count(number + 1)), traf)

    return moof(len(moof(0)) + 8) + _box("mdat", *frames)


def _frame(number: int, noise: random.Random) -> bytes:
    """A frame of 4096 samples of two channels, quiet noise, not compressed."""
    head = b"\xff\xf8\xca\x18" + chr(number).encode()
    head += bytes([_crc(head, 8, 0x07)])
    quiet = (noise.randrange(256) for _ in range(_SAMPLES))
    body = b"\x02" + b"".join(struct.pack(">h", sample - 128) for sample in quiet)
    frame = head + body + body
    return frame + _crc(frame, 16, 0x8005).to_bytes(2, "big")


@functools.cache
def _table(bits: int, polynomial: int) -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte << bits - 8
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> bits - 1 else 0)
            value &= (1 << bits) - 1
        found.append(value)
    return tuple(found)


def _crc(content: bytes, bits: int, polynomial: int) -> int:
    table, value, mask = _table(bits, polynomial), 0, (1 << bits) - 1
    for byte in content:
        value = value << 8 & mask ^ table[value >> bits - 8 ^ byte]
    return value


def _full(kind: str, body: bytes, version: int = 0, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", version << 24 | flags) + body)


def _box(kind: str, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8, kind.encode()) + body


def _count(number: int) -> bytes:
    return struct.pack(">I", number)
