"""Decodes the body of an HTTP/1.1 message as recorders store it."""

import re

from dragstrip.pages.format.recording import Headers, header

_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")


def dechunked(block: bytes, headers: Headers) -> bytes:
    """Return the body of a message without chunking (RFC 9112 section 7.1).

    Many recorders store the body without chunking but keep the header. So a body that is not
    completely chunked is returned unchanged.
    """
    if header(headers, "transfer-encoding").strip().lower() != "chunked":
        return block
    body, at = bytearray(), 0
    while size_line := _CHUNK_SIZE.match(block, at):
        size = int(size_line[1], 16)
        at = size_line.end() + size + 2
        if not size:
            return bytes(body)
        if block[at - 2 : at] != b"\r\n":
            return block
        body += block[at - 2 - size : at - 2]
    return block
