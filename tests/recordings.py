"""Small recordings of every kind we import, to test with and to mutate."""

import base64
import gzip
import io
import json
import zipfile
from typing import Any

from dragstrip.pages.format import zstd
from dragstrip.pages.importers.mahimahi import _record_type

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=")


def entry(url: str, start_ms: float, *, mime: str = "text/html", **more: Any) -> dict[str, Any]:
    """A HAR entry. `more`: status, size (bodySize), text, initiator, referer, took_ms, headers."""
    headers = {"content-type": mime, **more.get("headers", {})}
    content = {"size": more.get("size", 0), "mimeType": mime}
    if "text" in more:
        content |= {"text": more["text"], "size": len(more["text"])}
    sent = {"referer": more["referer"]} if "referer" in more else {}
    return {
        "pageref": more.get("page", "p1"),
        "startedDateTime": f"2024-05-01T10:00:{start_ms / 1000:06.3f}Z",
        "time": more.get("took_ms", 20),
        "_initiator": {"type": "parser", "url": more["initiator"]} if "initiator" in more else None,
        "request": {
            "method": more.get("method", "GET"),
            "url": url,
            "httpVersion": "h2",
            "headers": [{"name": n, "value": v} for n, v in sent.items()],
            "queryString": [],
            "bodySize": 0,
        },
        "response": {
            "status": more.get("status", 200),
            "statusText": "",
            "httpVersion": "h2",
            "headers": [{"name": n, "value": v} for n, v in headers.items()],
            "redirectURL": more.get("location", ""),
            "headersSize": 200,
            "bodySize": more.get("size", 0),
            "content": content,
        },
        "cache": {},
        "timings": {"send": 0, "wait": 10, "receive": 10},
    }


def har(*entries: dict[str, Any], load_ms: float | None = 5_000, pages: int = 1) -> bytes:
    listed = [
        {
            "id": f"p{n}",
            "title": f"page {n}",
            "startedDateTime": "2024-05-01T10:00:00.000Z",
            "pageTimings": {"onLoad": load_ms},
        }
        for n in range(1, pages + 1)
    ]
    log = {"version": "1.2", "creator": {"name": "made", "version": "1"}, "pages": listed}
    return json.dumps({"log": log | {"entries": list(entries)}}).encode()


SITE = (
    entry("https://a.test/", 0, size=6_000),
    entry("https://a.test/s.css", 30, mime="text/css", size=3_000, initiator="https://a.test/"),
    entry("https://b.test/x.js", 32, mime="text/javascript", size=9_000, referer="https://a.test/"),
    entry("https://c.test/1.jpg", 40, mime="image/jpeg", size=24_000, initiator="https://a.test/"),
    entry(
        "https://c.test/f.woff2", 60, mime="font/woff2", size=9_000, referer="https://a.test/s.css"
    ),
    entry(
        "https://d.test/t",
        400,
        mime="",
        status=302,
        location="https://e.test/p.gif",
        initiator="https://b.test/x.js",
    ),
    entry("https://e.test/p.gif", 430, mime="image/gif", size=43, initiator="https://b.test/x.js"),
)
WITH_BODIES = (
    entry(
        "https://a.test/",
        0,
        text="<!doctype html><img src=/p.gif><p>hello",
        size=60,
        headers={"content-encoding": "gzip"},
    ),
    entry("https://a.test/p.gif", 20, mime="image/gif", size=43),
)


def warc() -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
    record = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:test:1>\r\n"
        "WARC-Target-URI: https://a.test/\r\nWARC-Date: 2018-02-06T05:05:23Z\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return record.encode() + http + b"\r\n\r\n"


def mahimahi(target: str, mime: str, body: bytes, **headers: str) -> bytes:
    record = _record_type()()
    record.ip, record.port, record.scheme = "10.0.0.1", 443, 2
    record.request.first_line = f"GET {target} HTTP/1.1".encode()
    record.request.header.add(key=b"Host", value=b"a.test")
    record.response.first_line = b"HTTP/1.1 200 OK"
    record.response.body = body
    for name, value in {"Content-Type": mime, **headers}.items():
        record.response.header.add(key=name.encode(), value=value.encode())
    return record.SerializeToString()


def playwright() -> bytes:
    """A HAR with its bodies beside it in a zip."""
    log = json.loads(har(*WITH_BODIES))
    content = log["log"]["entries"][0]["response"]["content"]
    content["_file"] = "1.html"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("har.har", json.dumps(log))
        archive.writestr("1.html", content.pop("text"))
    return file.getvalue()


SAVED = b"<!-- saved from url=(0019)https://a.test/dir/ --><p><img src='site_files/1.gif'>"

SEEDS = {
    "site.har": har(*SITE),
    "bodies.har": har(*WITH_BODIES),
    "site.har.zst": zstd.compress(har(*SITE)),
    "site.har.gz": gzip.compress(har(*WITH_BODIES), mtime=0),
    "site.har.zip": playwright(),
    "site.warc": warc(),
    "site.warc.gz": gzip.compress(warc(), mtime=0),
    "site.html": SAVED,
    "mahimahi/save.1": mahimahi(
        "/", "text/html", b"5\r\n<p>hi\r\n0\r\n\r\n", **{"Transfer-Encoding": "chunked"}
    ),
}
"""File name -> a recording that is imported."""
