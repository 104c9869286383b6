"""A pipe to a browser whose DevTools only speak WebSocket (RFC 6455).

    python devtools_pipe.py PORT [PATH]

The program carries messages from stdin to the browser at 127.0.0.1:PORT, and the browser's messages
to stdout. Messages end with a NUL byte, as with `--remote-debugging-pipe` of later browsers. The
program connects to PATH, or to the first tab if none is given. It waits until the browser answers,
and ends when either side does. It imports no module of dragstrip, so that it starts fast, and runs
in the browser's network namespace.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

_PATIENCE_S = 30.0
_LOOK_S = 0.02
_CHUNK = 1 << 16
"""Bytes that one call reads, as in `dragstrip.testbed.process`."""
_WEBKIT_PAGE = re.compile(rb"/socket/\d+/\d+/WebPage")
_CONTINUATION, _TEXT, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x8, 0x9, 0xA
_FINAL, _MASKED = 0x80, 0x80


def frame(opcode: int, payload: bytes) -> bytes:
    """Return a complete WebSocket frame from a client (section 5.2). Firefox refuses a mask of
    zeros."""
    size = len(payload)
    if size < 126:
        head = bytes([_MASKED | size])
    elif size < 1 << 16:
        head = bytes([_MASKED | 126]) + struct.pack(">H", size)
    else:
        head = bytes([_MASKED | 127]) + struct.pack(">Q", size)
    mask = os.urandom(3) + b"\x01"
    return bytes([_FINAL | opcode]) + head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Return the payload with the mask applied, which adds or removes it (section 5.3)."""
    stream = (mask * (len(payload) // 4 + 1))[: len(payload)]
    both = int.from_bytes(payload, "big") ^ int.from_bytes(stream, "big")
    return both.to_bytes(len(payload), "big")


def take(received: bytearray) -> Iterator[tuple[int, bool, bytes]]:
    """Remove every complete frame of a server from the buffer's start; yield its opcode, whether it
    is final, and its payload."""
    while len(received) >= 2:
        size, start = received[1] & 0x7F, 2
        if size >= 126:
            start, kind = (4, ">H") if size == 126 else (10, ">Q")
            if len(received) < start:
                return
            (size,) = struct.unpack(kind, received[2:start])
        if len(received) < start + size:
            return
        opcode, final = received[0] & 0x0F, bool(received[0] & _FINAL)
        payload = bytes(received[start : start + size])
        del received[: start + size]
        yield opcode, final, payload


def _tab(port: int) -> str:
    """Return the WebSocket address of the first tab. Wait until there is a tab."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            if found := first_tab(port):
                return found
        time.sleep(_LOOK_S)
    raise SystemExit(f"no tab at port {port} for {_PATIENCE_S:g} s")


def first_tab(port: int) -> str:
    """Return the address of the first tab that the browser lists; empty if it lists none. Chromium
    lists tabs in JSON, WebKit as links of a page."""
    answer = _get(port, "/json")
    if not answer.startswith(b"["):
        link = _WEBKIT_PAGE.search(_get(port, "/"))
        return link.group(0).decode() if link else ""
    for found in json.loads(answer):
        if found.get("type") == "page" and "webSocketDebuggerUrl" in found:
            return str(found["webSocketDebuggerUrl"])
    return ""


def _get(port: int, path: str) -> bytes:
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    asked.request("GET", path)
    return asked.getresponse().read()


def _reach(port: int) -> socket.socket:
    """Return a TCP connection to the browser. Wait until the browser listens."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(_LOOK_S)
    raise SystemExit(f"nothing listened at port {port} for {_PATIENCE_S:g} s")


def _connect(port: int, path: str) -> tuple[socket.socket, bytearray]:
    """Return an open WebSocket (section 4.1), and the bytes that followed the server's
    handshake."""
    path = path or urlsplit(_tab(port)).path
    key = base64.b64encode(os.urandom(16)).decode()
    opened = _reach(port)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.sendall(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    received = bytearray()
    while b"\r\n\r\n" not in received:
        chunk = opened.recv(_CHUNK)
        if not chunk:
            raise SystemExit("the browser closed the DevTools connection")
        received += chunk
    head, _, rest = bytes(received).partition(b"\r\n\r\n")
    if b" 101 " not in head.splitlines()[0]:
        raise SystemExit(f"the browser refused DevTools: {head.splitlines()[0].decode()}")
    return opened, bytearray(rest)


def main(port: int, path: str = "") -> None:
    tab, received = _connect(port, path)
    asked, message = bytearray(), b""
    while True:
        for opcode, final, payload in take(received):
            if opcode == _CLOSE:
                return
            if opcode == _PING:
                tab.sendall(frame(_PONG, payload))
            elif opcode in (_TEXT, _CONTINUATION):
                message += payload
                if final:
                    sys.stdout.buffer.write(message + b"\0")
                    message = b""
        sys.stdout.buffer.flush()
        ready, _, _ = select.select([tab, sys.stdin], [], [])
        if tab in ready:
            chunk = tab.recv(_CHUNK)
            if not chunk:
                return
            received += chunk
        if sys.stdin in ready:
            chunk = os.read(sys.stdin.fileno(), _CHUNK)
            if not chunk:
                return
            *whole, rest = bytes(asked + chunk).split(b"\0")
            asked = bytearray(rest)
            for command in whole:
                tab.sendall(frame(_TEXT, command))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
