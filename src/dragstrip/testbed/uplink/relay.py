"""A TCP relay. For every connection that it accepts, it opens another one towards the connection's
goal.

    python -I relay.py [FROM=TO...]
    python -I relay.py expose ADDRESS PORT DESCRIPTOR...

Without `expose` the relay runs in a namespace whose packet filter diverts TCP to `RELAY_PORT`
(tproxy). The goal is where the connection wanted to go; `FROM=TO` replaces one address by another.
With `expose` the goal is one server. Connections come to listening sockets of another namespace,
which the relay inherits. It uses the standard library only, because it is started for every link
and must start fast.
"""

import contextlib
import socket
import struct
import sys
import threading
from collections.abc import Callable

RELAY_PORT = 1
_IP_TRANSPARENT, _IPV6_TRANSPARENT = 19, 75
_BACKLOG = 1024
_CHUNK = 1 << 17
_RESET = struct.pack("ii", 1, 0)
"""Value of the option SO_LINGER with a time of 0, so that closing resets the connection."""


def main() -> None:
    match sys.argv[1:]:
        case ["expose", address, port, *descriptors]:
            _expose((address, int(port)), [int(each) for each in descriptors])
        case pairs:
            _divert(dict(pair.split("=") for pair in pairs))


def _expose(goal: tuple[str, int], descriptors: list[int]) -> None:
    for descriptor in descriptors:
        door = socket.socket(fileno=descriptor)
        threading.Thread(target=_serve, args=(door, lambda _: goal)).start()


def _divert(instead: dict[str, str]) -> None:
    def goal(client: socket.socket) -> tuple[str, int]:
        address, port = client.getsockname()[:2]
        address = address.removeprefix("::ffff:")
        return instead.get(address, address), port

    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as door:
        if door.family is socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            door.setsockopt(socket.IPPROTO_IPV6, _IPV6_TRANSPARENT, 1)
        door.setsockopt(socket.IPPROTO_IP, _IP_TRANSPARENT, 1)
        door.bind(("", RELAY_PORT))
        door.listen(_BACKLOG)
        _serve(door, goal)


def _serve(door: socket.socket, goal: Callable[[socket.socket], tuple[str, int]]) -> None:
    while True:
        client, _ = door.accept()
        threading.Thread(target=_carry, args=(client, goal(client)), daemon=True).start()


def _carry(client: socket.socket, goal: tuple[str, int]) -> None:
    with client:
        try:
            far = socket.create_connection(goal)
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        with far:
            for end in (client, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_pour, args=(far, client), daemon=True)
            back.start()
            _pour(client, far)
            back.join()


def _pour(source: socket.socket, sink: socket.socket) -> None:
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    try:
        while count := source.recv_into(buffer):
            sink.sendall(view[:count])
    except OSError:
        # One end broke off, so the other must too.
        for end in (source, sink):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
