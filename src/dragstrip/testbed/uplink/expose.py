"""Makes a server behind the link answer on a port of the caller's machine.

Sockets listen on the caller's loopback. A relay at the link's far end inherits them. For each TCP
connection, and for each client of a UDP port, it opens another socket to the server, through the
link.
"""

import contextlib
import fcntl
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.testbed.net.wires import has_ipv6
from dragstrip.testbed.uplink import relay
from dragstrip.testbed.uplink.uplink import Uplink, ends_with_us

_BACKLOG = 1024
_FIRST_DESCRIPTOR = 10
"""First descriptor for the sockets. The shell between this process and the relay uses lower
ones."""


Carrier = Literal["tcp", "udp"]


class ExposedPort(Struct, frozen=True):
    """A port of the caller's machine, and the port of the server behind the link."""

    here: int
    behind: int
    carrier: Carrier = "tcp"


Doors = Sequence[tuple[ExposedPort, Sequence[socket.socket]]]


@contextlib.contextmanager
def doors(wanted: Sequence[ExposedPort]) -> Iterator[Doors]:
    """Listen on the caller's loopback, IPv4 and IPv6. Raises `InputError` if a port is taken."""
    with contextlib.ExitStack() as opened:
        yield [(each, [opened.enter_context(s) for s in _listening(each)]) for each in wanted]


@contextlib.contextmanager
def expose(way_out: Uplink, opened: Doors) -> Iterator[None]:
    """Forward connections and datagrams from these sockets to the servers behind the link."""
    with contextlib.ExitStack() as running:
        said = running.enter_context(tempfile.TemporaryFile("w+"))
        for each, sockets in opened:
            high = [fcntl.fcntl(s, fcntl.F_DUPFD, _FIRST_DESCRIPTOR) for s in sockets]
            inherited = [running.enter_context(socket.socket(fileno=d)).fileno() for d in high]
            goal = (str(way_out.subnet.client), str(each.behind))
            argv = ["-I", relay.__file__, "expose", each.carrier, *goal, *map(str, inherited)]
            command = way_out.there(sys.executable, *argv)
            running.enter_context(ends_with_us(command, said, inherited))
        yield


def _listening(wanted: ExposedPort) -> Iterator[socket.socket]:
    families = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    for family, address in families[: 1 + has_ipv6()]:
        over_tcp = wanted.carrier == "tcp"
        door = socket.socket(family, socket.SOCK_STREAM if over_tcp else socket.SOCK_DGRAM)
        try:
            if over_tcp:
                door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind((address, wanted.here))
            if over_tcp:
                door.listen(_BACKLOG)
        except OSError as error:
            door.close()
            form = "" if over_tcp else "/udp"
            raise InputError(
                f"--expose {wanted.here}{form}: cannot listen on port {wanted.here} of {address}: "
                f"{error.strerror}; give another port of this machine first, like --expose "
                f"{_another(wanted.here)}:{wanted.behind}{form}"
            ) from None
        yield door


def _another(port: int) -> int:
    return port + 10_000 if port < 50_000 else port - 10_000
