"""Small archives of every kind, written here and not by the libraries under test."""

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from dragstrip.pages.format import zstd
from recordings import PIXEL, mahimahi

DATE = "2018-02-06T05:05:23Z"


def record(kind: str, number: int, url: str, block: bytes, *fields: str, date: str = DATE) -> bytes:
    """One WARC record (ISO 28500 section 4), written here and not by the library under test."""
    lines = (
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:test:{number}>",
        f"WARC-Target-URI: {url}",
        f"WARC-Date: {date}",
        f"Content-Type: application/http; msgtype={kind}",
        f"Content-Length: {len(block)}",
        *fields,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def message(first: str, headers, body: bytes) -> bytes:
    return "\r\n".join([first, *(f"{n}: {v}" for n, v in headers)]).encode() + b"\r\n\r\n" + body


def exchange(number: int, url: str, status: str, headers, body: bytes, method="GET") -> list[bytes]:
    """An answer and its request."""
    asked = message(f"{method} / HTTP/1.1", [("Accept", "*/*"), ("Cookie", "secret=1")], b"")
    concurrent = f"WARC-Concurrent-To: <urn:test:{number}>"
    digest = f"WARC-Payload-Digest: sha1:{hashlib.sha1(body).hexdigest()}"
    answer = message(f"HTTP/1.1 {status}", headers, body)
    return [
        record("response", number, url, answer, digest),
        record("request", number + 1, url, asked, concurrent),
    ]


def warc(*exchanges, compressed=True, more=()) -> bytes:
    """A WARC of (url, status line, response headers, body[, method]) tuples."""
    records = [r for i, made in enumerate(exchanges) for r in exchange(2 * i, *made)]
    records = [record("warcinfo", 99, "urn:x", b"software: a test\r\n"), *records, *more]
    return b"".join(gzip.compress(r, mtime=0) if compressed else r for r in records)


def visit(
    number: int, url: str, *, referer: str = "", date: str = DATE, **more: str
) -> list[bytes]:
    """A GET and its answer. `more`: mime, body, status, location, dest, page (WARC-Page-ID)."""
    asked = [("Referer", referer)] if referer else []
    asked += [("Sec-Fetch-Dest", more["dest"])] if "dest" in more else []
    headers = [("Content-Type", more.get("mime", "text/html"))]
    headers += [("Location", more["location"])] if "location" in more else []
    answer = message(
        f"HTTP/1.1 {more.get('status', '200 OK')}", headers, more.get("body", "<p>x").encode()
    )
    tied = [f"WARC-Page-ID: {more['page']}"] if "page" in more else []
    concurrent = f"WARC-Concurrent-To: <urn:test:{number}>"
    return [
        record("response", number, url, answer, *tied, date=date),
        record(
            "request", number + 1, url, message("GET / HTTP/1.1", asked, b""), concurrent, date=date
        ),
    ]


def zst(data: bytes, dictionary: bytes = b"") -> bytes:
    """A .warc.zst: one frame a record; the dictionary, if there is one, in a skippable frame."""
    if not dictionary:
        return zstd.compress(data)
    head = b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little") + dictionary
    return head + zstd.compress(data, zstd_dict=zstd.ZstdDict(dictionary, is_raw=True))


def arc(url: str, body: bytes) -> bytes:
    """An ARC file (version 1) of one answer."""
    block = message("HTTP/1.1 200 OK", [("Content-Type", "text/html")], body)
    version = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n\n"
    head = f"filedesc://x.arc 0.0.0.0 20180206050523 text/plain {len(version)}\n".encode()
    record = f"{url} 192.0.2.1 20180206050523 text/html {len(block)}\n".encode()
    return head + version + record + block + b"\n"


def wacz(warcs: dict[str, bytes], pages: list[dict[str, str]]) -> bytes:
    file = io.BytesIO()
    lines = [{"format": "json-pages-1.0", "id": "pages"}, *pages]
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in warcs.items():
            archive.writestr(f"archive/{name}", data)
        archive.writestr("pages/pages.jsonl", "\n".join(map(json.dumps, lines)))
    return file.getvalue()


def mhtml(*parts: tuple[str, str, str], root: str = "https://a.test/") -> bytes:
    """A MHTML file of (Content-Type, Content-Location or cid:..., text) tuples."""
    lines = [
        "From: <Saved by a test>",
        f"Snapshot-Content-Location: {root}",
        "MIME-Version: 1.0",
        'Content-Type: multipart/related; type="text/html"; boundary="----b"',
        "",
    ]
    for kind, place, text in parts:
        is_id = place.startswith("cid:")
        name = f"Content-ID: <{place[4:]}>" if is_id else f"Content-Location: {place}"
        lines += ["------b", f"Content-Type: {kind}", name, "", text]
    return "\r\n".join([*lines, "------b--", ""]).encode("latin-1")


def netstring(value: Any) -> bytes:
    """A tagged netstring in mitmproxy's dialect."""
    match value:
        case bool():
            data, tag = str(value).lower().encode(), b"!"
        case None:
            data, tag = b"", b"~"
        case int() | float():
            data, tag = str(value).encode(), b"#" if isinstance(value, int) else b"^"
        case bytes():
            data, tag = value, b","
        case str():
            data, tag = value.encode(), b";"
        case dict():
            data, tag = b"".join(netstring(x) for pair in value.items() for x in pair), b"}"
        case _:
            data, tag = b"".join(map(netstring, value)), b"]"
    return b"%d:%b%b" % (len(data), data, tag)


def flow(path: str, mime: str, body: bytes | None, start_s: float = 1.0, **request: Any) -> bytes:
    """A flow of mitmproxy 12, as `mitmdump -w` writes it; `request` are more of its fields."""
    asked = {
        "method": b"GET", "scheme": b"https", "host": "192.0.2.1", "port": 443, "authority": b"",
        "path": path.encode(), "http_version": b"HTTP/1.1", "headers": [[b"Host", b"a.test"]],
        "content": b"", "trailers": None, "timestamp_start": start_s, "timestamp_end": start_s,
    }  # fmt: skip
    answered = {
        "status_code": 200, "reason": b"OK", "http_version": b"HTTP/1.1", "trailers": None,
        "headers": [[b"Content-Type", mime.encode()]], "content": body,
        "timestamp_start": start_s, "timestamp_end": start_s + 0.5,
    }  # fmt: skip
    state = {"version": 21, "type": "http", "request": asked | request, "response": answered}
    return netstring(state | {"server_conn": {"peername": ["192.0.2.1", 443]}, "error": None})


HOME = (
    "<!doctype html><title>Home</title><link rel=stylesheet href=/s.css><img src=/p.gif>"
    "<p>home <a href=/two.html>two</a>"
)
SHEET = "p { background: url(/b.gif) }"
TWO = "<!doctype html><title>Two</title><link rel=stylesheet href=/s.css><p>two"
_SITE = ("https://a.test/", "https://a.test/s.css", "https://a.test/p.gif", "https://a.test/b.gif")


def site() -> list[bytes]:
    """Records of a crawl of two pages."""
    home, sheet, *pictures = _SITE
    records = visit(0, home, body=HOME)
    records += visit(2, sheet, referer=home, mime="text/css", body=SHEET)
    for number, url in enumerate(pictures):
        answer = message("HTTP/1.1 200 OK", [("Content-Type", "image/gif")], PIXEL)
        records += [record("response", 10 + number, url, answer)]
    return records + visit(20, "https://a.test/two.html", referer=home, body=TWO)


def kinds() -> dict[str, dict[str, bytes]]:
    """A small recording of each kind except HAR, by importer: its files."""
    crawl = b"".join(site())
    listed = [{"id": "1", "url": "https://a.test/", "title": "Home"}]
    half = len(site()) // 2
    saved = HOME.replace("/s.css", "saved_files/s.css").replace("/p.gif", "saved_files/p.gif")
    sheet = SHEET.replace("/b.gif", "b.gif").encode()
    converted = HOME.replace("=/s.css", "=../cdn.a.test/s.css").replace("=/p.gif", "=p.gif?v=1")
    parts = (
        ("text/html; charset=utf-8", _SITE[0], HOME + '<iframe src="cid:f@x"></iframe>'),
        ("text/css", _SITE[1], SHEET),
        *(("image/gif", url, PIXEL.decode("latin-1")) for url in _SITE[2:]),
        ("text/html", "cid:f@x", "<p>framed"),
    )
    return {
        "plain.warc": {"plain.warc": crawl},
        "packed.warc.gz": {"packed.warc.gz": b"".join(gzip.compress(r, mtime=0) for r in site())},
        "two.warc.gz#2": {"two.warc.gz": gzip.compress(crawl, mtime=0)},
        "dictionary.warc.zst": {
            "dictionary.warc.zst": zst(crawl, b"https://a.test/ WARC/1.0 response " * 20)
        },
        "old.arc.gz": {"old.arc.gz": gzip.compress(arc(_SITE[0], b"<p>old"), mtime=0)},
        "listed.wacz": {"listed.wacz": wacz({"a.warc.gz": gzip.compress(crawl, mtime=0)}, listed)},
        "crawl": {
            "crawl/a.warc": b"".join(site()[:half]),
            "crawl/b.warc.gz": gzip.compress(b"".join(site()[half:]), mtime=0),
        },
        "parts.mhtml": {"parts.mhtml": mhtml(*parts)},
        "saved.html": {
            "saved.html": saved.encode(),
            "saved_files/s.css": sheet,
            "saved_files/p.gif": PIXEL,
            "saved_files/b.gif": PIXEL,
        },
        "mirror": {
            "mirror/a.test/index.html": converted.encode(),
            "mirror/a.test/p.gif?v=1": PIXEL,
            "mirror/cdn.a.test/s.css": sheet,
            "mirror/cdn.a.test/b.gif": PIXEL,
        },
        "flows.mitm": {
            "flows.mitm": flow("/", "text/html", HOME.encode())
            + flow("/s.css", "text/css", SHEET.encode(), 1.1)
            + flow("/p.gif", "image/gif", PIXEL, 1.1)
            + flow("/b.gif", "image/gif", PIXEL, 1.2)
        },
        "mahimahi": {
            "mahimahi/save.1": mahimahi("/", "text/html", b"<img src=/p.gif>"),
            "mahimahi/save.2": mahimahi("/p.gif", "image/gif", PIXEL),
        },
    }


def place(folder: Path, files: dict[str, bytes]) -> None:
    """Write the files of a kind of recording."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
