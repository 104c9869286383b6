"""A transparent TCP relay: it accepts every connection and opens another to the original
destination.

    python -I relay.py [FROM=TO...]

Runs in a namespace whose packet filter diverts TCP to `RELAY_PORT` (tproxy). `FROM=TO` replaces one
destination address by another. Standard library only: it is started for every link and must not
take long.
"""

import contextlib
import socket
import struct
import sys
import threading

RELAY_PORT = 1
_IP_TRANSPARENT, _IPV6_TRANSPARENT = 19, 75
_CHUNK = 1 << 17
_RESET = struct.pack("ii", 1, 0)
"""Option SO_LINGER with a time of 0, so that closing resets the connection."""


def main() -> None:
    instead = dict(pair.split("=") for pair in sys.argv[1:])
    with socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET) as door:
        if door.family is socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            door.setsockopt(socket.IPPROTO_IPV6, _IPV6_TRANSPARENT, 1)
        door.setsockopt(socket.IPPROTO_IP, _IP_TRANSPARENT, 1)
        door.bind(("", RELAY_PORT))
        door.listen(1024)
        while True:
            client, _ = door.accept()
            threading.Thread(target=_carry, args=(client, instead), daemon=True).start()


def _carry(client: socket.socket, instead: dict[str, str]) -> None:
    address, port = client.getsockname()[:2]
    address = address.removeprefix("::ffff:")
    with client:
        try:
            far = socket.create_connection((instead.get(address, address), port))
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
        # One end broke off: so must the other.
        for end in (source, sink):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
