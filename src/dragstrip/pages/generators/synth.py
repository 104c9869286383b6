"""Synthetic pages: ``64x10KB`` is a document and 64 images of exactly 10,000 bytes each.

``50x400B-8KB`` spreads the sizes over a range, ``64x10KB:script`` makes scripts (or ``style``, or
``mix`` of all three), ``64x10KB@4`` spreads the objects over four hosts. ``64x10KB+1x5MB:post``
uploads 5,000,000 bytes once all objects have arrived; ``1x5MB:post`` only uploads.
``60x20KB+1x10KB:urgent`` requests an urgent object while its images arrive.

Each image is a PNG of grey noise in uncompressed deflate blocks. So a browser fetches and decodes
real pixels to the end, no proxy can shrink the bytes, and the file length is exact to the byte.
Bytes that do not fill a row of pixels are put into an ancillary chunk, which decoders skip. Scripts
and style sheets are only comments of noise, which browsers parse to the end.
"""

import math
import random
import re
import struct
import zlib
from typing import Literal, get_args

from dragstrip.pages.format.recording import PageError, Recorded, Recording
from dragstrip.pages.generators import urgent
from dragstrip.pages.generators.sizes import NONE, PATTERN, Sizes, parse_sizes
from dragstrip.pages.generators.uploads import answer, script, split
from dragstrip.pages.made.text import CODE, fill

DOMAIN = "synth.test"
_BOX_PX = 24
"""Width and height of every image, in CSS pixels. Images are so small that Chromium raises the
priority of none."""

_SPEC = re.compile(rf"{PATTERN}(?::([a-z]+))?(?:@([0-9]{{1,5}}))?")
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


class Spec(Sizes, frozen=True, kw_only=True):
    """A parsed specification such as ``50x400B-8KB:mix@4+1x5MB:post``."""

    forms: tuple[Form, ...]
    """Forms of the objects, assigned to the objects in turn."""
    hosts: int
    uploads: Sizes = NONE
    urgent_bytes: int = 0
    """Size of the late urgent object; 0 without one."""


def synth(spec: str, *, hosts: int | None = None, seed: int = 0) -> Recording:
    """Return a page such as ``64x10KB``, with its objects on `hosts` hosts in turn.

    The document comes from the first host, and uploads go there. No object may be cached, so every
    visit fetches all of them. Equal arguments give equal bytes. Raises `PageError`.
    """
    parsed = parse_spec(spec)
    count, hosts = parsed.count, hosts or parsed.hosts
    if not 1 <= hosts <= max(count, 1):
        raise PageError(f"synth:{spec} on {hosts} hosts: give between 1 and {count} hosts")
    names = ["www", *(f"s{i}" for i in range(2, hosts + 1))]
    forms = [parsed.forms[i % len(parsed.forms)] for i in range(count)]
    urls = [
        f"https://{names[i % hosts]}.{DOMAIN}/{i:05}.{_TYPES[form][1]}"
        for i, form in enumerate(forms)
    ]
    sizes = parsed.sizes(random.Random(seed))
    document = f"https://www.{DOMAIN}/"
    objects, plus, after = spec.partition("+")
    plain = objects.partition("@")[0] + plus + after
    tail = (f"-{hosts}hosts" if hosts > 1 else "") + (f"-seed{seed}" if seed else "")
    rows = list(zip(urls, forms, sizes, strict=True))
    late = f"{document}{urgent.PATH}" if parsed.urgent_bytes else ""
    uploads = [
        (f"{document}upload/{i:05}", size)
        for i, size in enumerate(parsed.uploads.sizes(random.Random(seed)))
    ]
    return Recording(
        name=f"synth-{plain.replace(':', '-')}{tail}",
        url=document,
        source=f"generated: {_described(parsed)} on {hosts} hosts, seed {seed}",
        answers=(
            _answer(document, "text/html; charset=utf-8", _html(plain, rows, uploads, late)),
            *(_answer(u, _TYPES[f][0], _body(f, size, f"{seed}:{u}")) for u, f, size in rows),
            *(_sheet(late, parsed.urgent_bytes, f"{seed}:{late}") for _ in late[:1]),
            *(answer(url, size) for url, size in uploads),
        ),
    )


def _described(parsed: Spec) -> str:
    kind = " and ".join(f"{form}s" for form in parsed.forms)
    said = [f"{parsed.count} {kind} of {parsed}"] if parsed.count else []
    if parsed.uploads.count:
        said.append(f"{parsed.uploads.count} uploads of {parsed.uploads}")
    if parsed.urgent_bytes:
        said.append(f"an urgent object of {parsed.urgent_bytes} bytes")
    return " and ".join(said)


def parse_spec(spec: str) -> Spec:
    """Parse a specification such as ``64x10KB``: 64 images of 10,000 bytes on one host. Raises
    `PageError`."""
    try:
        return _parse(spec)
    except PageError as error:
        raise PageError(f"synth:{spec}{error}") from None


def _parse(spec: str) -> Spec:
    """Parse a specification. Raises `PageError`, which does not name the page."""
    images, urgent_bytes = urgent.split(spec)
    objects, uploads = split(images)
    if not objects:
        return Spec(count=0, low=0, high=0, forms=(), hosts=1, uploads=uploads)
    parts = _SPEC.fullmatch(objects)
    if not parts:
        raise PageError(" is not a page; write count x size, like synth:64x10KB")
    found = parse_sizes(parts[1], parts[2], parts[3], least=MIN_OBJECT_BYTES, what="an image")
    forms = tuple(f for f in _MIX if parts[4] in (f, "mix")) if parts[4] else _MIX[:1]
    if not forms:
        kinds = ", ".join(_MIX)
        raise PageError(f": objects are {kinds} or mix, and uploads post, not {parts[4]}")
    return Spec(
        count=found.count,
        low=found.low,
        high=found.high,
        forms=forms,
        hosts=int(parts[5] or 1),
        uploads=uploads,
        urgent_bytes=urgent_bytes,
    )


def noise_png(size: int, seed: str) -> bytes:
    """Return a valid grey PNG of exactly `size` bytes (at least `MIN_OBJECT_BYTES`)."""
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
    """Return the width and height of a picture whose rows, with one filter byte each, fill `room`
    bytes or leave enough for a chunk."""
    if room < 1_000:
        return room - 1, 1
    width = math.isqrt(room)
    return width, room // (width + 1) - 1


def _stored(data: bytes) -> bytes:
    """Return a zlib stream of stored blocks, whose bytes do not depend on the installed zlib."""
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


def _sheet(url: str, size: int, seed: str) -> Recorded:
    return _answer(url, _TYPES["style"][0], _body("style", size, seed))


def _html(
    title: str, rows: list[tuple[str, Form, int]], uploads: list[tuple[str, int]], late: str
) -> bytes:
    box = f'width="{_BOX_PX}" height="{_BOX_PX}" alt=""'
    tags = {
        "image": f'<img src="{{}}" {box}>',
        "script": '<script async src="{}"></script>',
        "style": '<link rel="stylesheet" href="{}">',
    }
    objects = "\n".join(tags[form].format(url) for url, form, _ in rows)
    sends = script(uploads, len(rows)) if uploads else ""
    sends += urgent.script(late) if late else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<link rel="icon" href="data:,">{sends}</head>\n<body>\n{objects}\n</body></html>\n'
    ).encode()


def _answer(url: str, content_type: str, body: bytes) -> Recorded:
    headers = (("content-type", content_type), ("cache-control", "no-store"))
    return Recorded(url=url, status_text="OK", headers=headers, wire=body)
