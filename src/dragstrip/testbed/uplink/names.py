"""Resolves names inside a link with the caller's own resolvers, through the link.

A resolver at 127.0.0.53, or on a network to which the link does not lead, cannot be reached from
inside. So the gateway's address answers: it forwards queries unchanged from the caller's namespace.
"""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

_RESOLV_CONF = Path("/etc/resolv.conf")
_PORT = 53
_PATIENCE_S = 10.0
_LONGEST = 65535


def resolv_conf(gateway: str) -> str | None:
    """Return the caller's resolver configuration with the gateway as the name server; None if the
    caller has none."""
    if not _nameservers():
        return None
    lines = _RESOLV_CONF.read_text().splitlines()
    kept = [line for line in lines if not line.split() or line.split()[0] != "nameserver"]
    return "\n".join([*kept, f"nameserver {gateway}"]) + "\n"


@contextlib.contextmanager
def relay(gateway: str) -> Iterator[None]:
    """Open a context in which DNS queries are answered over UDP and TCP at the gateway's
    address."""
    servers = _nameservers()
    with contextlib.ExitStack() as running:
        # If the port is taken, a resolver of the caller listens on every address and will answer.
        with contextlib.suppress(OSError):
            for kind, handler in (
                (socketserver.ThreadingUDPServer, _datagram),
                (socketserver.ThreadingTCPServer, _stream),
            ):
                answer: Any = partial(handler, servers)
                server: Any = running.enter_context(kind((gateway, _PORT), answer))
                server.daemon_threads = True
                threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
                running.callback(server.shutdown)
        yield


def _datagram(resolvers: tuple[str, ...], request: Any, client: Any, _server: Any) -> None:
    question, back = request
    for resolver in resolvers:
        with contextlib.suppress(OSError), _connected(resolver, socket.SOCK_DGRAM) as ask:
            ask.send(question)
            back.sendto(ask.recv(_LONGEST), client)
            return


def _stream(resolvers: tuple[str, ...], request: socket.socket, _client: Any, _server: Any) -> None:
    for resolver in resolvers:
        with contextlib.suppress(OSError), _connected(resolver, socket.SOCK_STREAM) as ask:
            threading.Thread(target=_pour, args=(request, ask), daemon=True).start()
            _pour(ask, request)
            return


def _connected(resolver: str, kind: socket.SocketKind) -> socket.socket:
    family, *_, address = socket.getaddrinfo(resolver, _PORT, type=kind)[0]
    made = socket.socket(family, kind)
    made.settimeout(_PATIENCE_S)
    made.connect(address)
    return made


def _pour(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_LONGEST):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _nameservers() -> tuple[str, ...]:
    try:
        lines = _RESOLV_CONF.read_text().splitlines()
    except OSError:
        return ()
    words = (line.split() for line in lines)
    return tuple(w[1] for w in words if len(w) > 1 and w[0] == "nameserver")
