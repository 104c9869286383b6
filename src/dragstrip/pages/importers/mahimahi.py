"""Imports a folder of Mahimahi's mm-webrecord: one protocol buffer per exchange."""

import functools
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from dragstrip.pages.format.recording import Headers, PageError, Recorded, Recording, header
from dragstrip.pages.importers.http1 import dechunked
from dragstrip.pages.importers.prepare import prepare

_SCHEMES = {1: "http", 2: "https"}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FIELD = descriptor_pb2.FieldDescriptorProto


def read_mahimahi(folder: Path, name: str, *, keep_http: bool = False) -> Recording:
    """The page in a folder of Mahimahi's `RequestResponse` files. Raises `PageError`.

    The files hold no times: the document comes first, the rest by file name.
    """
    try:
        files = sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))
        exchanges = [_exchange(file.read_bytes(), file) for file in files]
    except OSError as error:
        raise PageError(f"{folder} cannot be read: {error.strerror or error}") from None
    if not exchanges:
        raise PageError(f"{folder} is empty; give a folder that mm-webrecord recorded")
    exchanges.sort(key=_document_first)
    try:
        source = f"{folder.name}, a Mahimahi recording of {len(files)} files"
        return prepare(name, source, exchanges, keep_http=keep_http)
    except PageError as error:
        raise PageError(f"{folder}: {error}") from None


def _document_first(exchange: Recorded) -> tuple[bool, bool, int]:
    """The document is the resource that no other refers to; of several, the one with the shortest
    path."""
    is_document = exchange.method == "GET" and (
        exchange.mime == "text/html" or 300 <= exchange.status < 400
    )
    referred = bool(header(exchange.request_headers, "referer"))
    return (not is_document, referred, len(exchange.url)) if is_document else (True, True, 0)


def _exchange(data: bytes, file: Path) -> Recorded:
    record = _record_type()()
    try:
        record.ParseFromString(data)
        request_line = record.request.first_line.decode("ascii").split(" ")
        status_line = record.response.first_line.decode("latin-1").split(" ", 2)
        method, target = request_line[0], request_line[1]
        version, status = status_line[0], int(status_line[1])
        scheme = _SCHEMES[record.scheme]
    except (DecodeError, ValueError, IndexError, KeyError):
        raise PageError(
            f"{file} is not an exchange that mm-webrecord wrote; remove it or record again"
        ) from None
    headers = _headers(record.response)
    request_headers = _headers(record.request)
    port = "" if record.port in (0, _DEFAULT_PORTS[scheme]) else f":{record.port}"
    host = header(request_headers, "host") or f"{record.ip}{port}"
    return Recorded(
        url=target if target.startswith(("http:", "https:")) else f"{scheme}://{host}{target}",
        method=method,
        status=status,
        status_text=status_line[2].strip() if len(status_line) > 2 else "",
        http_version=version,
        headers=headers,
        request_headers=tuple(
            h for h in request_headers if h[0].lower() not in ("cookie", "authorization")
        ),
        wire=dechunked(record.response.body, headers),
    )


def _headers(message: Any) -> Headers:
    return tuple((h.key.decode("latin-1"), h.value.decode("latin-1")) for h in message.header)


@functools.cache
def _record_type() -> Any:
    """The message type, from Mahimahi's published http_record.proto."""
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
