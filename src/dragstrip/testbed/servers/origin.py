"""The origin as a running process. docs/reference/processes.md describes its protocol."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from dragstrip.model.chain import Chain
from dragstrip.model.page import Page
from dragstrip.model.sockets import ServedSocket
from dragstrip.model.stack import EarlyHints, Stack
from dragstrip.model.visit import Connection, Served
from dragstrip.pages.coded import coded
from dragstrip.pages.hints import early_hints
from dragstrip.testbed.net.layout import Layout, one_each
from dragstrip.testbed.net.namespaces import Namespaces, only_child
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

_CA = "ca.pem"
_ROOTS = "roots.pem"
_USUAL = Chain()


class OriginLog(Struct, frozen=True, kw_only=True):
    requests: tuple[Served, ...]
    connections: tuple[Connection, ...]
    sockets: tuple[ServedSocket, ...] = ()
    cpu_s: float | None
    """CPU seconds of the origin since it started; None if another server stands in front of it,
    which `dragstrip.visit.run_queue` observes instead."""
    congestion: tuple[str, ...] = ()
    """Congestion control of TCP connections as the kernel reports it, for servers that report no
    transport state."""


class _Serving(Struct, frozen=True, kw_only=True):
    authority: str


class _Roots(Struct, frozen=True, kw_only=True):
    pem: str


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


class Certificates(Struct, frozen=True, kw_only=True):
    """Certificates with which another server can serve the origin's hosts, in PEM."""

    key: str
    """The private key of all leaves."""
    chains: dict[str, str]
    """Leaf and intermediates by host."""
    shared: str
    """Leaf and intermediates of one certificate for all hosts."""


class RunningServer(Protocol):
    """The server at the far end of the link: an `Origin`, or another server."""

    ca: Path | None
    """Certificate (PEM) of an additional authority to trust."""

    @property
    def authority(self) -> str:
        """Issuer of the server's certificates, known once it serves a page; empty if unknown."""

    def serve(self, page: Page, *, think: bool = False, layout: Layout | None = None) -> None:
        """Serve a page. `layout` None keeps the addresses; `think` adds the recorded servers' think
        times."""

    def every_root(self) -> Path | None:
        """Return a file (PEM) with the authority's roots of every kind of key; None if there is no
        authority."""

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None: ...
    def qlog(self, folder: Path | None) -> None: ...
    def look(self) -> None: ...
    def close(self) -> None: ...
    def log(self) -> OriginLog: ...


class Origin:
    """The running origin, which `origin` starts."""

    def __init__(self, process: JsonProcess, folder: Path, layout: Layout) -> None:
        self._process = process
        self._folder = folder
        self._layout = layout
        self._page: Page | None = None
        self._think = False
        self._shown: Path | None = None
        """The page file from which the origin answers."""
        self._hints: dict[EarlyHints, Mapping[str, tuple[str, ...]]] = {}
        """Hints of the page that were requested so far, because finding them takes time."""
        self.ca: Path | None = folder / _CA
        """Root certificate of the throw-away CA, with an ECDSA key, PEM."""
        self.authority = ""
        self.pid = only_child(process.pid)
        """Process id of the origin itself. Its parent process entered the namespace."""

    def serve(self, page: Page, *, think: bool = False, layout: Layout | None = None) -> None:
        """Replay this page from now on; `think` adds the recorded servers' think times."""
        self._page, self._think, self._layout = page, think, layout or self._layout
        self._hints = {}
        self._show(page)

    def code(self, compress: str) -> None:
        """Answer with bodies in this content coding from now on, see `Stack.compress`.

        Coding takes no time during a visit, because the bodies are encoded in advance. Raises
        `PageError`.
        """
        if self._page and self._shown:
            shown = coded(self._page, compress, self._folder)
            if shown.path != self._shown:
                self._show(shown)

    def _show(self, page: Page) -> None:
        self.authority = self._process.ask(
            "page",
            _Serving,
            path=str(page.path.absolute()),
            think=self._think,
            servers=msgspec.to_builtins(self._layout),
        ).authority
        self._shown = page.path

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        """Apply the stack's transport settings to connections accepted from now on.

        `rtt_ms` is the network's round trip, for which a stack may hold responses.
        """
        quic = "cubic" if stack.congestion == "dctcp" else stack.congestion
        self._process.ask(
            "tune",
            dict[str, Any],
            tcp={
                "congestion": stack.kernel_congestion,
                "pacing": stack.pacing,
                "unsent_bytes": stack.unsent_bytes,
                **({"fast_open": True} if stack.fast_open else {}),
            },
            quic={
                "congestion": quic,
                "pacing": stack.pacing,
                "slow_start_exit": stack.slow_start_exit,
                "ecn": bool(stack.ecn),
                "l4s": stack.ecn == "l4s",
                "initial_window_packets": stack.initial_window_packets,
                "udp_payload_bytes": stack.udp_payload_bytes,
                **({"udp_start_bytes": start} if (start := stack.udp_start_bytes) else {}),
                "ack_every_packets": stack.ack_every_packets,
                **({"migration": True} if stack.migration else {}),
                "retry": stack.retry,
            },
            tls={
                "version": stack.tls,
                "resumption": stack.resumption,
                "early_data": stack.early_data,
                "key_share": stack.key_share,
                "chain": msgspec.to_builtins(stack.chain),
                "certificate_compression": stack.certificate_compression,
                **({"records": stack.record} if stack.record else {}),
            },
            http={
                "priorities": stack.priorities,
                "interleave_bytes": stack.interleave_bytes,
                "receive_window_bytes": stack.flow_window_bytes,
                "streams_at_once": stack.streams_at_once,
                "qpack_table_bytes": stack.qpack_table_bytes,
                "alt_svc": stack.announces,
                "hold_ms": stack.hold_rtts * rtt_ms,
                "h1_only": self._h1_only(stack),
                "early_hints": self._early_hints(stack.early_hints),
                "extended_connect": stack.websockets == "same",
            },
        )

    def _early_hints(self, named: EarlyHints) -> Mapping[str, tuple[str, ...]]:
        if named not in self._hints:
            self._hints[named] = early_hints(self._page, named) if self._page else {}
        return self._hints[named]

    def _h1_only(self, stack: Stack) -> list[str]:
        """Return the hosts that may offer only HTTP/1.1; none if the browser is restricted to one
        protocol anyway."""
        if stack.discovery != "as-recorded" or self._page is None:
            return []
        spoken = self._page.spoken
        return [h for h in self._layout.addresses if stack.protocols(h, spoken) == {"h1"}]

    def qlog(self, folder: Path | None) -> None:
        """Write ``ID.sqlog`` into `folder` for QUIC connections accepted from now on; None stops
        writing.

        ID is the id of `Connection`. Times are ms after the connection's `t_us`.
        """
        self._process.ask("qlog", dict[str, Any], folder=None if folder is None else str(folder))

    def close(self) -> None:
        """Close every connection and forget all of them. Session tickets stay valid."""
        self._process.ask("close", dict[str, Any])

    def certificates(
        self, hosts: Sequence[str], chain: Chain = _USUAL
    ) -> dict[str, dict[str, str]]:
        """Return the PEM text of each host's `certificate` (leaf, intermediates) and `key`, like
        those of the origin. The empty name has one certificate for all hosts."""
        made = self.chains(hosts, chain)
        chains = {**made.chains, "": made.shared}
        return {h: {"certificate": chain, "key": made.key} for h, chain in chains.items()}

    def every_root(self) -> Path:
        """Return a file (PEM) with the roots of every kind of key, which are made now. `ca` has
        that of ECDSA alone."""
        file = self._folder / _ROOTS
        if not file.exists():
            file.write_text(self._process.ask("roots", _Roots).pem)
        return file

    def chains(self, hosts: Sequence[str], chain: Chain = _USUAL) -> Certificates:
        """Return certificates like the origin's own, by host."""
        return self._process.ask(
            "certificates", Certificates, hosts=list(hosts), chain=msgspec.to_builtins(chain)
        )

    def connections(self) -> tuple[Connection, ...]:
        """Return the connections that the next `log` will contain, in their current state."""
        return self._process.ask("connections", _Connections).connections

    def log(self) -> OriginLog:
        """Return the requests and connections since the last call."""
        return self._process.ask("log", OriginLog)


@contextlib.contextmanager
def origin(
    spaces: Namespaces,
    workspace: Path,
    plain: Path | None = None,
    layout: Layout | None = None,
) -> Iterator[Origin]:
    """Run the origin in its namespace, on ports 443 and 80 (http) of every address of that
    namespace.

    With `plain`, the origin also listens on a Unix socket at this path, without TLS.
    """
    argv = [program("dragstrip-origin"), "--ca-out", str(workspace / _CA)]
    argv += ["--http", "80", *(["--plain", str(plain)] if plain else [])]
    with json_process(
        "dragstrip-origin", spaces.command("origin", *argv), workspace / "origin.err"
    ) as process:
        yield Origin(process, workspace, layout or one_each(()))
