"""Sets the kernel's part of a stack: settings of the testbed's own namespaces, never of the
host."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from dragstrip.model.family import IPV4_ONLY, Family
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import route

_FAST_OPEN, _STOCK = 3, 1
"""Values of net.ipv4.tcp_fastopen: for clients and servers, and Linux's default (only clients)."""
_ECN = {False: 2, True: 1, "accurate": 3, "l4s": 2}
"""Values of net.ipv4.tcp_ecn: accept ECN only (Linux's default), request and accept it, request and
accept AccECN (since Linux 6.18). TCP has no L4S."""
_STATE, _SYN_RECV = 3, "03"
"""Index of the state in a line of /proc/net/tcp, and the value of the state SYN_RECV."""
_LISTS: Mapping[Family, str] = {4: "tcp", 6: "tcp6"}
"""Files of /proc/net with the TCP connections of each family."""
_BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


class Kernel:
    """Sets both ends of the link to a stack. An instance is made together with the namespaces, and
    remembers the values that it set."""

    def __init__(
        self, spaces: Namespaces, at_origin: int, families: Collection[Family] = IPV4_ONLY
    ) -> None:
        self._spaces = spaces
        self._families = sorted(families)
        listed = [Path(f"/proc/{at_origin}/net/{_LISTS[family]}") for family in self._families]
        self._connections = listed
        """Lists of the TCP connections in the origin's namespace, to which the process `at_origin`
        belongs."""
        self._own_buffers: dict[str, str] = {}
        self._set: dict[str, object] = {}

    def tune(self, stack: Stack) -> None:
        """Apply the stack to connections opened from now on. Raises `TestbedError`.

        The sender's window is an attribute of the origin's route, the receiver's of the client's.
        Socket buffers, slow start after idleness and ECN belong to a namespace. Each setting costs
        a process, so only settings that differ from the previous stack's are set.
        """
        sends = stack.kernel_congestion, stack.initial_window_packets
        receives = stack.receive_window_packets
        idle, fast_open, ecn = stack.slow_start_after_idle, stack.fast_open, stack.ecn
        shared = stack.buffer_bytes, idle, fast_open, ecn
        if self._news("sends", sends):
            lines = [route("origin", "replace", *sends, family=f) for f in self._families]
            self._spaces.configure("origin", lines)
        if self._news("receives", receives):
            lines = [
                route("client", "replace", receive_window=receives, family=f)
                for f in self._families
            ]
            self._spaces.configure("client", lines)
        if self._news("shared", shared):
            settings = [f"net.ipv4.tcp_slow_start_after_idle={int(idle)}"]
            settings.append(f"net.ipv4.tcp_fastopen={_FAST_OPEN if fast_open else _STOCK}")
            settings.append(f"net.ipv4.tcp_ecn={_ECN[ecn]}")
            settings += [f"{name}={self._sizes(name, stack.buffer_bytes)}" for name in _BUFFERS]
            for where in ("client", "origin"):
                self._spaces.run(where, "sysctl", "-q", "-w", *settings)
        self._set = {"sends": sends, "receives": receives, "shared": shared}

    def drop_half_open(self) -> None:
        """Drop connections that a client began but did not finish opening. Raises `TestbedError`.

        If a SYN/ACK was lost, the kernel would send it again in the next visit. Looking for such
        connections only reads a file; dropping them takes four programs.
        """
        connections = [
            line for listed in self._connections for line in listed.read_text().splitlines()[1:]
        ]
        if not any(line.split()[_STATE] == _SYN_RECV for line in connections):
            return
        half_open = "ss --kill --numeric --no-header --tcp state syn-recv > /dev/null"
        self._spaces.run("origin", "sh", "-c", half_open)

    def _news(self, part: str, wish: object) -> bool:
        return part not in self._set or self._set[part] != wish

    def _sizes(self, name: str, largest: int | None) -> str:
        """Return the smallest, the initial and the largest buffer size. The stack chooses only the
        largest."""
        if name not in self._own_buffers:
            self._own_buffers[name] = self._spaces.run("origin", "sysctl", "-n", name).strip()
        least, initial, own = self._own_buffers[name].split()
        return f"{least} {initial} {largest or own}"


@contextlib.contextmanager
def forgotten_mtu(spaces: Namespaces, network: Network) -> Iterator[None]:
    """Make both ends forget, at the end of the context, what the network told them of its MTU. A
    kernel remembers that for ten minutes, for every later connection between the two ends, over
    whatever link."""
    try:
        yield
    finally:
        if any(way.mtu_behaviour == "too-big" for way in (network.down, network.up)):
            for end in ("client", "origin"):
                spaces.run(end, "ip", f"-{network.family}", "route", "flush", "cache")
