"""The kernel's part of a stack: settings of the testbed's own namespaces, never of the host."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import route

_FAST_OPEN, _STOCK = 3, 1
"""net.ipv4.tcp_fastopen: of clients and servers, and Linux's own default (clients alone)."""
_ECN, _PASSIVE = 1, 2
"""net.ipv4.tcp_ecn: asked for and given, and Linux's own default (given if asked for)."""
_STATE, _SYN_RECV = 3, "03"
"""Field of a line in /proc/net/tcp, and the state to look for."""
_BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


class Kernel:
    """Holds both ends to a stack. Made with the namespaces; remembers the values it set."""

    def __init__(self, spaces: Namespaces, at_origin: int) -> None:
        self._spaces = spaces
        self._connections = Path(f"/proc/{at_origin}/net/tcp")
        """Connections of the origin's namespace, in which this process is."""
        self._own_buffers: dict[str, str] = {}
        self._set: dict[str, object] = {}

    def tune(self, stack: Stack) -> None:
        """Hold connections opened from now on to the stack. Raises `TestbedError`.

        The sender's window is an attribute of the origin's route, the receiver's of the client's;
        socket buffers, slow start after idleness and ECN belong to a namespace. Every part costs a
        process, so only what differs from the stack before is set.
        """
        sends = stack.congestion, stack.initial_window_packets
        receives = stack.receive_window_packets
        idle, fast_open, ecn = stack.slow_start_after_idle, stack.fast_open, stack.ecn
        shared = stack.buffer_bytes, idle, fast_open, ecn
        if self._news("sends", sends):
            self._spaces.configure("origin", [route("origin", "replace", *sends)])
        if self._news("receives", receives):
            line = route("client", "replace", receive_window=receives)
            self._spaces.configure("client", [line])
        if self._news("shared", shared):
            settings = [f"net.ipv4.tcp_slow_start_after_idle={int(idle)}"]
            settings.append(f"net.ipv4.tcp_fastopen={_FAST_OPEN if fast_open else _STOCK}")
            settings.append(f"net.ipv4.tcp_ecn={_ECN if ecn else _PASSIVE}")
            settings += [f"{name}={self._sizes(name, stack.buffer_bytes)}" for name in _BUFFERS]
            for where in ("client", "origin"):
                self._spaces.run(where, "sysctl", "-q", "-w", *settings)
        self._set = {"sends": sends, "receives": receives, "shared": shared}

    def drop_half_open(self) -> None:
        """Forget the connections that a client began and left. Raises `TestbedError`.

        Where a SYN/ACK was lost, the kernel would send it again in the next visit. Looking is a
        read; dropping takes four programs.
        """
        _, *connections = self._connections.read_text().splitlines()
        if not any(line.split()[_STATE] == _SYN_RECV for line in connections):
            return
        half_open = "ss --kill --numeric --no-header --tcp state syn-recv > /dev/null"
        self._spaces.run("origin", "sh", "-c", half_open)

    def _news(self, part: str, wish: object) -> bool:
        return part not in self._set or self._set[part] != wish

    def _sizes(self, name: str, largest: int | None) -> str:
        """Least, initial and largest size; only the largest is the stack's to choose."""
        if name not in self._own_buffers:
            self._own_buffers[name] = self._spaces.run("origin", "sysctl", "-n", name).strip()
        least, initial, own = self._own_buffers[name].split()
        return f"{least} {initial} {largest or own}"


@contextlib.contextmanager
def forgotten_mtu(spaces: Namespaces, network: Network) -> Iterator[None]:
    """At the end both ends forget what the network told them of its MTU. The kernel keeps it for
    ten minutes, for every later connection between the two, over whatever link."""
    try:
        yield
    finally:
        if any(way.mtu_behaviour == "too-big" for way in (network.down, network.up)):
            for end in ("client", "origin"):
                spaces.run(end, "ip", "route", "flush", "cache")
