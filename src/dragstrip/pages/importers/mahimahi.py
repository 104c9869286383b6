"""Imports a folder of Mahimahi's mm-webrecord: one protocol buffer per exchange."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from dragstrip.pages.format.recording import Headers, PageError, Recorded, header
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.http1 import dechunked
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter
from dragstrip.pages.importers.plain import read_plain
from dragstrip.pages.importers.sentences import listed

_SAVED = "save."
"""Prefix of mm-webrecord's file names."""
_SCHEMES = {1: "http", 2: "https"}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FIELD = descriptor_pb2.FieldDescriptorProto


def read_mahimahi(folder: Path, files: Sequence[Path], limits: Limits = DEFAULT) -> Contents:
    """Return the page in those `files` of `folder` that are Mahimahi's `RequestResponse` messages.
    Raises `PageError`.

    The messages hold no times: the document comes first, the other answers are sorted by file name.
    """
    meter = Meter(limits)
    exchanges: list[Recorded] = []
    others: list[str] = []
    for file in files:
        try:
            exchanges.append(_exchange(read_plain(file, meter)))
        except _NotWritten:
            if file.name.startswith(_SAVED):
                raise PageError(f"{file} is damaged; record the page again") from None
            others.append(file.name)
    if not exchanges:
        raise PageError(
            f"{folder} holds no recording: {listed(others)}; give a folder of mm-webrecord, of "
            "WARC files or of mirrored hosts"
        )
    exchanges.sort(key=_document_first)
    changes = [f"{len(others)} files left out, not by mm-webrecord: {listed(others)}"]
    return Contents(
        source=f"a Mahimahi recording of {len(exchanges)} files",
        exchanges=exchanges,
        changes=tuple(changes if others else ()),
    )


class _NotWritten(ValueError):
    """Raised for a file that mm-webrecord did not write."""


def _document_first(exchange: Recorded) -> tuple[bool, bool, int]:
    """Return a sort key that puts the document first. The document is the resource to which no
    other refers; of several, the one with the shortest path."""
    is_document = exchange.method == "GET" and (
        exchange.mime == "text/html" or 300 <= exchange.status < 400
    )
    referred = bool(header(exchange.request_headers, "referer"))
    return (not is_document, referred, len(exchange.url)) if is_document else (True, True, 0)


def _exchange(data: bytes) -> Recorded:
    record = _record_type()()
    try:
        record.ParseFromString(data)
        request_line = record.request.first_line.decode("ascii").split(" ")
        status_line = record.response.first_line.decode("latin-1").split(" ", 2)
        method, target = request_line[0], request_line[1]
        version, status = status_line[0], int(status_line[1])
        scheme = _SCHEMES[record.scheme]
        ip = record.ip.encode().decode()  # bytes if it is not UTF-8
    except (DecodeError, ValueError, IndexError, KeyError, AttributeError):
        raise _NotWritten from None
    headers = _headers(record.response)
    request_headers = _headers(record.request)
    port = "" if record.port in (0, _DEFAULT_PORTS[scheme]) else f":{record.port}"
    host = header(request_headers, "host") or f"{ip}{port}"
    return Recorded(
        url=target if target.startswith(("http:", "https:")) else f"{scheme}://{host}{target}",
        method=method,
        status=status,
        status_text=status_line[2].strip() if len(status_line) > 2 else "",
        http_version=version,
        headers=headers,
        request_headers=request_headers,
        wire=dechunked(record.response.body, headers),
        server_ip=ip,
    )


def _headers(message: Any) -> Headers:
    return tuple((h.key.decode("latin-1"), h.value.decode("latin-1")) for h in message.header)


@functools.cache
def _record_type() -> Any:
    """Return the message type of Mahimahi's published http_record.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="dragstrip_mahimahi.proto", package="mahimahi")
    many, message = _FIELD.LABEL_REPEATED, _FIELD.TYPE_MESSAGE
    shapes = {
        "Header": (("key", 1, _FIELD.TYPE_BYTES), ("value", 2, _FIELD.TYPE_BYTES)),
        "Message": (
            ("first_line", 1, _FIELD.TYPE_BYTES),
            ("header", 2, message, many, "Header"),
            ("body", 3, _FIELD.TYPE_BYTES),
        ),
        "Record": (
            ("ip", 1, _FIELD.TYPE_STRING),
            ("port", 2, _FIELD.TYPE_UINT32),
            ("scheme", 3, _FIELD.TYPE_UINT32),
            ("request", 4, message, _FIELD.LABEL_OPTIONAL, "Message"),
            ("response", 5, message, _FIELD.LABEL_OPTIONAL, "Message"),
        ),
    }
    for name, fields in shapes.items():
        shape = file.message_type.add(name=name)
        for field, number, kind, *rest in fields:
            label, of = rest or (_FIELD.LABEL_OPTIONAL, None)
            added = shape.field.add(name=field, number=number, type=kind, label=label)
            if of:
                added.type_name = f".mahimahi.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName("mahimahi.Record")
    return message_factory.GetMessageClass(found)
