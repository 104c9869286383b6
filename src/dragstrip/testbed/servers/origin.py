"""The origin as a running process. The protocol is docs/reference/processes.md."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed.net.namespaces import Namespaces, only_child
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program


class OriginLog(Struct, frozen=True, kw_only=True):
    requests: tuple[Served, ...]
    connections: tuple[Connection, ...]
    cpu_s: float | None
    """CPU time of the origin since it started; None if another server stands before it."""
    congestion: tuple[str, ...] = ()
    """For TCP connections whose server reports no transport state, as the kernel reports it."""


class _Serving(Struct, frozen=True, kw_only=True):
    authority: str


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


class Certificates(Struct, frozen=True, kw_only=True):
    """What another server needs to speak for the origin's hosts, in PEM."""

    key: str
    """Of all leaves."""
    chains: dict[str, str]
    """Leaf and intermediate by host."""
    shared: str
    """Leaf and intermediate of all these hosts."""


class RunningServer(Protocol):
    """What answers at the far end of the link: an `Origin`, or servers that are not ours."""

    ca: Path | None
    """Certificate of a further authority to trust, PEM."""

    @property
    def authority(self) -> str:
        """Issuer of its certificates, known once it serves a page; empty if unknown."""

    def serve(self, page: Page, *, think: bool = False) -> None: ...
    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None: ...
    def qlog(self, folder: Path | None) -> None: ...
    def look(self) -> None: ...
    def close(self) -> None: ...
    def log(self) -> OriginLog: ...


class Origin:
    """Made by `origin`."""

    def __init__(self, process: JsonProcess, ca: Path, addresses: Mapping[str, str]) -> None:
        self._process = process
        self._addresses = addresses
        self._page: Page | None = None
        self.ca: Path | None = ca
        """Certificate of the throw-away CA, PEM."""
        self.authority = ""
        self.pid = only_child(process.pid)
        """Of the program itself: what entered the namespace is its parent."""

    def serve(self, page: Page, *, think: bool = False) -> None:
        """Replay this page from now on; with `think` as slowly as the recorded servers."""
        self._page = page
        path = str(page.path.absolute())
        self.authority = self._process.ask("page", _Serving, path=path, think=think).authority

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        """Hold connections accepted from now on to the stack's transport tuning.

        `rtt_ms` is the network's round trip, which a stack may hold responses for.
        """
        both = {"congestion": stack.congestion, "pacing": stack.pacing}
        self._process.ask(
            "tune",
            dict[str, Any],
            tcp={**both, **({"fast_open": True} if stack.fast_open else {})},
            quic={
                **both,
                "initial_window_packets": stack.initial_window_packets,
                "udp_payload_bytes": stack.udp_payload_bytes,
                "receive_window_bytes": stack.flow_window_bytes,
                "ack_every_packets": stack.ack_every_packets,
            },
            tls={
                "version": stack.tls,
                "resumption": stack.resumption,
                "early_data": stack.early_data,
                **({"records": stack.record} if stack.record else {}),
            },
            http={
                "priorities": stack.priorities,
                "qpack_table_bytes": stack.qpack_table_bytes,
                "alt_svc": stack.discovery == "alt-svc",
                "hold_ms": stack.hold_rtts * rtt_ms,
                "h1_only": self._h1_only(stack),
            },
        )

    def _h1_only(self, stack: Stack) -> list[str]:
        """Addresses at which nothing but HTTP/1.1 may be offered. A browser that is held to one
        protocol needs no such help."""
        if stack.discovery != "as-recorded" or self._page is None:
            return []
        spoken = self._page.spoken
        return [ip for h, ip in self._addresses.items() if stack.protocols(h, spoken) == {"h1"}]

    def qlog(self, folder: Path | None) -> None:
        """QUIC connections accepted from now on write ``ID.sqlog`` into `folder`; None ends that.

        ID is that of `Connection`, times are ms after its `t_us`.
        """
        self._process.ask("qlog", dict[str, Any], folder=None if folder is None else str(folder))

    def close(self) -> None:
        """Close every connection and forget it; tickets are kept."""
        self._process.ask("close", dict[str, Any])

    def certificates(self, hosts: Sequence[str]) -> dict[str, dict[str, str]]:
        """By host `certificate` (leaf, intermediate) and `key` in PEM, like the origin's own; by
        no name one for all hosts."""
        made = self.chains(hosts)
        chains = {**made.chains, "": made.shared}
        return {h: {"certificate": chain, "key": made.key} for h, chain in chains.items()}

    def chains(self, hosts: Sequence[str]) -> Certificates:
        """Certificates like the origin's own, by host."""
        return self._process.ask("certificates", Certificates, hosts=list(hosts))

    def connections(self) -> tuple[Connection, ...]:
        """Connections that belong to the next `log`, as they stand now."""
        return self._process.ask("connections", _Connections).connections

    def log(self) -> OriginLog:
        """What was asked for and connected since the last call."""
        return self._process.ask("log", OriginLog)


@contextlib.contextmanager
def origin(
    spaces: Namespaces,
    workspace: Path,
    plain: Path | None = None,
    addresses: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Origin]:
    """Run the origin in its namespace, on ports 443 and 80 (http) of every address there.

    With `plain`, a path, also on a Unix socket there, without TLS.
    """
    ca = workspace / "ca.pem"
    argv = [program("dragstrip-origin"), "--ca-out", str(ca)]
    argv += ["--http", "80", *(["--plain", str(plain)] if plain else [])]
    with json_process(
        "dragstrip-origin", spaces.command("origin", *argv), workspace / "origin.err"
    ) as process:
        yield Origin(process, ca, addresses)
