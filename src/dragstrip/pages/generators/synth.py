"""Synthetic pages: ``64x10KB`` is a document and 64 images of exactly 10,000 bytes each.

``50x400B-8KB`` spreads the sizes over a range, ``64x10KB:script`` makes scripts (or ``style``, or
``mix`` of all three), ``64x10KB@4`` deals the objects to four hosts.

Each image is a PNG of grey noise in uncompressed deflate blocks: real pixels that a browser
fetches and decodes to the end, bytes that no middle layer can shrink, and a file length that can
be chosen to the byte. What does not fill a whole row of pixels goes into an ancillary chunk, which
decoders skip. Scripts and style sheets are comments of noise around nothing, which browsers parse
to the end.
"""

import math
import random
import re
import struct
import zlib
from typing import Literal, get_args

from msgspec import Struct

from dragstrip.model.units import UnitError, parse_size_bytes
from dragstrip.pages.format.recording import PageError, Recorded, Recording
from dragstrip.pages.made.text import CODE, fill

DOMAIN = "synth.test"
MAX_OBJECTS = 10_000
MAX_TOTAL_BYTES = 1_000_000_000
_BOX_PX = 24
"""All images are shown alike, small enough that Chromium gives none a better priority."""

_SIZE = r"[0-9.]+[a-zA-Z]*"
_SPEC = re.compile(rf"([0-9]+)x({_SIZE})(?:-({_SIZE}))?(?::([a-z]+))?(?:@([0-9]{{1,5}}))?")
_BLOCK = 65_535  # longest stored block, RFC 1951 section 3.2.4
_PNG_FRAME = 8 + 25 + 12 + 12  # signature, IHDR, frame of IDAT, IEND
_ZLIB_FRAME = 2 + 4  # header and checksum, RFC 1950
_CHUNK_FRAME = 12
MIN_OBJECT_BYTES = _PNG_FRAME + _ZLIB_FRAME + 5 + 2


Form = Literal["image", "script", "style"]
_MIX: tuple[Form, ...] = get_args(Form)
_TYPES = {
    "image": ("image/png", "png"),
    "script": ("text/javascript; charset=utf-8", "js"),
    "style": ("text/css; charset=utf-8", "css"),
}


class Spec(Struct, frozen=True, kw_only=True):
    """What ``50x400B-8KB:mix@4`` says."""

    count: int
    low: int
    """Size of the smallest object in bytes."""
    high: int
    forms: tuple[Form, ...]
    """Dealt to the objects in turn."""
    hosts: int

    def sizes(self, draw: random.Random) -> list[int]:
        """One size for each object: evenly spaced on a logarithmic scale, shuffled.

        So a page's weight does not depend on the seed. The papers do not say how sizes lie
        between their limits; this is our choice.
        """
        ratio = self.high / self.low
        sizes = [round(self.low * ratio ** ((i + 0.5) / self.count)) for i in range(self.count)]
        draw.shuffle(sizes)
        return sizes


def synth(spec: str, *, hosts: int | None = None, seed: int = 0) -> Recording:
    """A page like ``64x10KB``, its objects dealt to `hosts` hosts in turn.

    The document comes from the first host. Nothing may be cached, so every visit fetches all of
    it. Equal arguments give equal bytes. Raises `PageError`.
    """
    parsed = parse_spec(spec)
    count, hosts = parsed.count, hosts or parsed.hosts
    if not 1 <= hosts <= count:
        raise PageError(f"synth:{spec} on {hosts} hosts: give between 1 and {count} hosts")
    names = ["www", *(f"s{i}" for i in range(2, hosts + 1))]
    forms = [parsed.forms[i % len(parsed.forms)] for i in range(count)]
    urls = [
        f"https://{names[i % hosts]}.{DOMAIN}/{i:05}.{_TYPES[form][1]}"
        for i, form in enumerate(forms)
    ]
    sizes = parsed.sizes(random.Random(seed))
    document = f"https://www.{DOMAIN}/"
    plain = spec.partition("@")[0]
    tail = (f"-{hosts}hosts" if hosts > 1 else "") + (f"-seed{seed}" if seed else "")
    size = f"{parsed.low}" + (f" to {parsed.high}" if parsed.high > parsed.low else "")
    kind = " and ".join(f"{form}s" for form in parsed.forms)
    rows = list(zip(urls, forms, sizes, strict=True))
    return Recording(
        name=f"synth-{plain.replace(':', '-')}{tail}",
        url=document,
        source=f"generated: {count} {kind} of {size} bytes on {hosts} hosts, seed {seed}",
        answers=(
            _answer(document, "text/html; charset=utf-8", _html(plain, rows)),
            *(_answer(u, _TYPES[f][0], _body(f, size, f"{seed}:{u}")) for u, f, size in rows),
        ),
    )


def parse_spec(spec: str) -> Spec:
    """``"64x10KB"`` -> 64 images of 10,000 bytes on one host. Raises `PageError`."""
    parts = _SPEC.fullmatch(spec)
    if not parts:
        raise PageError(f"synth:{spec} is not a page; write count x size, like synth:64x10KB")
    try:
        count, low = int(parts[1]), parse_size_bytes(parts[2])
        high = parse_size_bytes(parts[3]) if parts[3] else low
    except UnitError as error:
        raise PageError(f"synth:{spec}: {error}") from None
    if not 1 <= count <= MAX_OBJECTS:
        raise PageError(f"synth:{spec}: give between 1 and {MAX_OBJECTS} objects")
    if low < MIN_OBJECT_BYTES:
        raise PageError(f"synth:{spec}: the smallest object, an image, is {MIN_OBJECT_BYTES}B")
    if high < low:
        raise PageError(f"synth:{spec}: give the smaller size of a range first")
    if count * high > MAX_TOTAL_BYTES:
        raise PageError(f"synth:{spec}: give a page of at most {MAX_TOTAL_BYTES // 10**6} MB")
    forms = tuple(f for f in _MIX if parts[4] in (f, "mix")) if parts[4] else _MIX[:1]
    if not forms:
        raise PageError(f"synth:{spec}: objects are {', '.join(_MIX)} or mix, not {parts[4]}")
    return Spec(count=count, low=low, high=high, forms=forms, hosts=int(parts[5] or 1))


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


def _body(form: Form, size: int, seed: str) -> bytes:
    return noise_png(size, seed) if form == "image" else fill([""], size, CODE, seed)[0]


def _html(title: str, rows: list[tuple[str, Form, int]]) -> bytes:
    box = f'width="{_BOX_PX}" height="{_BOX_PX}" alt=""'
    tags = {
        "image": f'<img src="{{}}" {box}>',
        "script": '<script async src="{}"></script>',
        "style": '<link rel="stylesheet" href="{}">',
    }
    objects = "\n".join(tags[form].format(url) for url, form, _ in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<link rel="icon" href="data:,"></head>\n<body>\n{objects}\n</body></html>\n'
    ).encode()


def _answer(url: str, content_type: str, body: bytes) -> Recorded:
    headers = (("content-type", content_type), ("cache-control", "no-store"))
    return Recorded(url=url, status_text="OK", headers=headers, wire=body)
