"""Makes text of an exact length on the wire: padded with comments, or compressed with gzip."""

import random
import struct
import zlib
from collections.abc import Sequence

Comment = tuple[bytes, bytes]
HTML: Comment = (b"<!--", b"-->")
CODE: Comment = (b"/*", b"*/")
NONE: Comment = (b"", b"")

_STORED = 65_535  # longest stored block, RFC 1951 section 3.2.4
_GZIP_HEADER = b"\x1f\x8b\x08%c\0\0\0\0\x02\xff"  # RFC 1952 section 2.3; the flags are open
_HAS_COMMENT = 0x10
_MOST_DRAWN = 1 << 27
"""Most random bytes to draw in one call."""
_LETTERS = bytes(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ "[i % 64] for i in range(256)
)


def noise(size: int, seed: str) -> bytes:
    """Return letters and digits drawn at random: 6 bits in each byte, safe inside every comment."""
    draw = random.Random(seed)
    parts = [min(_MOST_DRAWN, size - at) for at in range(0, size, _MOST_DRAWN)]
    return b"".join(draw.randbytes(part) for part in parts).translate(_LETTERS)


def fill(pieces: Sequence[str], size: int, comment: Comment, seed: str) -> tuple[bytes, str]:
    """Return the pieces with padding after each, and their content coding (``""`` or ``gzip``).

    The result has exactly `size` bytes, or the least possible if the pieces do not fit. Only the
    pieces are compressed. Padding is in stored blocks, so the length is exact.
    """
    plain = [piece.encode() for piece in pieces]
    room = size - sum(map(len, plain))
    if room >= 0:
        return b"".join(p + _pad(n, comment, seed) for p, n in _shared(plain, room)), ""
    return _gzip(plain, size, comment, seed), "gzip"


def _shared(plain: list[bytes], room: int) -> list[tuple[bytes, int]]:
    """Return each piece with its share of the room; the last also gets the remainder."""
    share = room // len(plain)
    return [*((p, share) for p in plain[:-1]), (plain[-1], room - share * (len(plain) - 1))]


def _pad(size: int, comment: Comment, seed: str) -> bytes:
    before, after = comment
    inside = size - len(before) - len(after)
    return before + noise(inside, f"{seed}:{size}") + after if inside >= 0 else b" " * size


def _gzip(plain: list[bytes], size: int, comment: Comment, seed: str) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = [packer.compress(p) + packer.flush(zlib.Z_FULL_FLUSH) for p in plain]
    end = struct.pack("<BHH", 1, 0, 0xFFFF)
    room = size - sum(map(len, packed)) - len(end) - 10 - 8
    text, stream, spare = b"", b"", 0
    for original, part, share in zip(plain, packed, _shares(room, len(plain)), strict=True):
        inside, over = _stored_room(share)
        padding = _pad(inside, comment, seed)
        text += original + padding
        stream += part + _stored(padding)
        spare += over
    tail = struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)
    # Room that is too short for a separate block is filled by the header's comment.
    head = _GZIP_HEADER % (_HAS_COMMENT if spare else 0) + b"." * (spare - 1) + b"\0" * (spare > 0)
    return head + stream + end + tail


def _shares(room: int, count: int) -> list[int]:
    room = max(room, 0)
    return [*[room // count] * (count - 1), room - room // count * (count - 1)]


def _stored_room(size: int) -> tuple[int, int]:
    """Return how many of `size` bytes can be data in stored blocks, and how many are left after
    data and block headers."""
    blocks = -(-size // (_STORED + 5))
    inside = size - 5 * blocks
    return (inside, 0) if inside > 0 else (0, size)


def _stored(data: bytes) -> bytes:
    blocks = (data[i : i + _STORED] for i in range(0, len(data), _STORED))
    return b"".join(struct.pack("<BHH", 0, len(b), len(b) ^ 0xFFFF) + b for b in blocks)
