"""Synthetic pages: ``64x10KB`` is a document and 64 images of exactly 10,000 bytes each.

Each object is a PNG of grey noise in uncompressed deflate blocks: real pixels that a browser
fetches and decodes to the end, bytes that no middle layer can shrink, and a file length that can
be chosen to the byte. What does not fill a whole row of pixels goes into an ancillary chunk, which
decoders skip.
"""

import math
import random
import re
import struct
import zlib

from dragstrip.model.units import UnitError, parse_size_bytes
from dragstrip.pages.recording import PageError, Recorded, Recording

DOMAIN = "synth.test"
MAX_OBJECTS = 10_000
MAX_TOTAL_BYTES = 1_000_000_000
_BOX_PX = 24
"""All images are shown alike, small enough that Chromium gives none a better priority."""

_SPEC = re.compile(r"([0-9]+)x([0-9.]+[a-zA-Z]*)")
_BLOCK = 65_535  # longest stored block, RFC 1951 section 3.2.4
_PNG_FRAME = 8 + 25 + 12 + 12  # signature, IHDR, frame of IDAT, IEND
_ZLIB_FRAME = 2 + 4  # header and checksum, RFC 1950
_CHUNK_FRAME = 12
MIN_OBJECT_BYTES = _PNG_FRAME + _ZLIB_FRAME + 5 + 2


def synth(spec: str, *, hosts: int = 1, seed: int = 0) -> Recording:
    """A page like ``64x10KB``, its objects dealt to `hosts` hosts in turn.

    The document comes from the first host. Nothing may be cached, so every visit fetches all of
    it. Equal arguments give equal bytes. Raises `PageError`.
    """
    count, size = parse_spec(spec)
    if not 1 <= hosts <= count:
        raise PageError(f"synth:{spec} on {hosts} hosts: give between 1 and {count} hosts")
    names = ["www", *(f"s{i}" for i in range(2, hosts + 1))]
    urls = [f"https://{names[i % hosts]}.{DOMAIN}/{i:05}.png" for i in range(count)]
    document = f"https://www.{DOMAIN}/"
    tail = (f"-{hosts}hosts" if hosts > 1 else "") + (f"-seed{seed}" if seed else "")
    return Recording(
        name=f"synth-{spec}{tail}",
        url=document,
        source=f"generated: {count} images of {size} bytes on {hosts} hosts, seed {seed}",
        answers=(
            _answer(document, "text/html; charset=utf-8", _html(spec, urls)),
            *(_answer(u, "image/png", noise_png(size, f"{seed}:{u}")) for u in urls),
        ),
    )


def parse_spec(spec: str) -> tuple[int, int]:
    """``"64x10KB"`` -> (64, 10_000). Raises `PageError`."""
    parts = _SPEC.fullmatch(spec)
    if not parts:
        raise PageError(f"synth:{spec} is not a page; write count x size, like synth:64x10KB")
    try:
        count, size = int(parts[1]), parse_size_bytes(parts[2])
    except UnitError as error:
        raise PageError(f"synth:{spec}: {error}") from None
    if not 1 <= count <= MAX_OBJECTS:
        raise PageError(f"synth:{spec}: give between 1 and {MAX_OBJECTS} objects")
    if size < MIN_OBJECT_BYTES:
        raise PageError(f"synth:{spec}: the smallest object, an image, is {MIN_OBJECT_BYTES}B")
    if count * size > MAX_TOTAL_BYTES:
        raise PageError(f"synth:{spec}: give a page of at most {MAX_TOTAL_BYTES // 10**6} MB")
    return count, size


def noise_png(size: int, seed: str) -> bytes:
    """A valid grey PNG of exactly `size` bytes (at least `MIN_OBJECT_BYTES`)."""
    draw = random.Random(seed)
    room = size - _PNG_FRAME - _ZLIB_FRAME
    room -= 5 * math.ceil(room / (_BLOCK + 5))
    width, height = _shape(room)
    rows = b"".join(b"\0" + draw.randbytes(width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    image = _chunk(b"IHDR", header) + _chunk(b"IDAT", _stored(rows))
    padding = size - 8 - len(image) - _CHUNK_FRAME
    if padding:
        image += _chunk(b"paDd", draw.randbytes(padding - _CHUNK_FRAME))
    return b"\x89PNG\r\n\x1a\n" + image + _chunk(b"IEND", b"")


def _shape(room: int) -> tuple[int, int]:
    """Width and height whose rows, one byte longer each, fill `room` or leave a chunk's frame."""
    if room < 1_000:
        return room - 1, 1
    width = math.isqrt(room)
    return width, room // (width + 1) - 1


def _stored(data: bytes) -> bytes:
    """A zlib stream of stored blocks, the same bytes whichever zlib is installed."""
    blocks = [data[i : i + _BLOCK] for i in range(0, len(data), _BLOCK)]
    stream = b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block
        for block in blocks
    )
    return b"\x78\x01" + stream + struct.pack(">I", zlib.adler32(data))


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def _html(spec: str, urls: list[str]) -> bytes:
    box = f'width="{_BOX_PX}" height="{_BOX_PX}" alt=""'
    images = "\n".join(f'<img src="{url}" {box}>' for url in urls)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{spec}</title>\n'
        f'<link rel="icon" href="data:,"></head>\n<body>\n{images}\n</body></html>\n'
    ).encode()


def _answer(url: str, content_type: str, body: bytes) -> Recorded:
    headers = (("content-type", content_type), ("cache-control", "no-store"))
    return Recorded(url=url, status_text="OK", headers=headers, wire=body)
