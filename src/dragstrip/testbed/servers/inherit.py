"""Listens on single addresses although another server listens on the same port of all addresses,
then executes a program.

    python inherit.py PORT ADDRESS... -- PROGRAM ARGUMENT...

The program inherits one listening socket per address, from descriptor 3 on. The kernel prefers the
more specific address if both servers bind with SO_REUSEPORT (socket(7)). Some programs have no
option for SO_REUSEPORT. This script imports nothing of dragstrip, so it starts fast.
"""

import fcntl
import os
import socket
import sys

FIRST_SOCKET = 3
_BACKLOG = 1024


def listening(port: int, address: str) -> socket.socket:
    """Return a listening socket on the address. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((address, port))
    made.listen(_BACKLOG)
    return made


def main(argv: list[str]) -> None:
    split = argv.index("--")
    port, *addresses = argv[:split]
    above = FIRST_SOCKET + len(addresses)
    for fd, address in enumerate(addresses, FIRST_SOCKET):
        with listening(int(port), address) as made:
            copy = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, above)
        os.dup2(copy, fd)
    os.execvp(argv[split + 1], argv[split + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
