"""A relay. For every TCP connection that it accepts, it opens another one towards the connection's
goal. For every sender of UDP it opens a socket towards the goal, and answers from there.

    python -I relay.py [FROM=TO...]
    python -I relay.py expose tcp|udp ADDRESS PORT DESCRIPTOR...

Without `expose` the relay runs in a namespace whose packet filter diverts TCP to `RELAY_PORT`
(tproxy). The goal is where the connection wanted to go; `FROM=TO` replaces one address by another.
With `expose` the goal is one server. Connections or datagrams come to sockets of another namespace,
which the relay inherits. It uses the standard library only, because it is started for every link
and must start fast.
"""

import contextlib
import selectors
import socket
import struct
import sys
import threading
from collections.abc import Callable

RELAY_PORT = 1
_IP_TRANSPARENT, _IPV6_TRANSPARENT = 19, 75
_BACKLOG = 1024
_CHUNK = 1 << 17
_DATAGRAM = 1 << 16
_UDP_BUFFER = 8 << 20
_MOST_SENDERS = 1024
"""Most senders of UDP at a time. A further one takes the place of the sender that was silent for
the longest time."""
_MTU_DISCOVER = {
    socket.AF_INET: (socket.IPPROTO_IP, 10),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 23),
}
_NEVER_FRAGMENT = 2
"""Value of IP_MTU_DISCOVER and IPV6_MTU_DISCOVER: too long a datagram is dropped, as on a path."""
_RESET = struct.pack("ii", 1, 0)
"""Value of the option SO_LINGER with a time of 0, so that closing resets the connection."""


def main() -> None:
    match sys.argv[1:]:
        case ["expose", "udp", address, port, *descriptors]:
            for each in descriptors:
                door = socket.socket(fileno=int(each))
                threading.Thread(target=_forward, args=(door, (address, int(port)))).start()
        case ["expose", "tcp", address, port, *descriptors]:
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


def _forward(door: socket.socket, goal: tuple[str, int]) -> None:
    """Carry datagrams between the senders at `door` and the goal. Each sender has its own socket
    towards the goal, so the server tells senders apart by their ports."""
    ends: dict[object, socket.socket] = {}
    with selectors.DefaultSelector() as waiting, door:
        waiting.register(door, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is door:
                    data, sender = door.recvfrom(_DATAGRAM)
                    if sender not in ends:
                        if len(ends) >= _MOST_SENDERS:
                            oldest = ends.pop(next(iter(ends)))
                            waiting.unregister(oldest)
                            oldest.close()
                        ends[sender] = _towards(goal)
                        waiting.register(ends[sender], selectors.EVENT_READ, sender)
                    ends[sender] = end = ends.pop(sender)
                    with contextlib.suppress(OSError):
                        end.send(data)
                else:
                    far = key.fileobj
                    assert isinstance(far, socket.socket)
                    with contextlib.suppress(OSError):
                        door.sendto(far.recv(_DATAGRAM), key.data)


def _towards(goal: tuple[str, int]) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(*goal, type=socket.SOCK_DGRAM)[0]
    end = socket.socket(family, kind, protocol)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        end.setsockopt(socket.SOL_SOCKET, option, _UDP_BUFFER)
    end.setsockopt(*_MTU_DISCOVER[family], _NEVER_FRAGMENT)
    end.connect(address)
    return end


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
