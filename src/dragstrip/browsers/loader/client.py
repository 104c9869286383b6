"""Runs the load generator inside a testbed, driven by JSON lines.

The load generator requests a page's objects in the order of its graph, as Chromium would. It
parses, runs and paints nothing, so its times are predictions. One process uses one stack. A visit
begins without any state.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.browsers.environment import NO_PROXIES, session_proxies
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.browsers.loader.wire import LoaderAnswer, page_of, read
from dragstrip.model.chain import ML_DSA
from dragstrip.model.graph import Graph
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.pages.graph.store import graph_of
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program
from dragstrip.testbed.servers.site import places_of
from dragstrip.testbed.testbed import Testbed
from dragstrip.version import __version__

_PROGRAM = "dragstrip-loader"
_MOST_BYTES = 500_000_000
_GRACE_S = 10.0
"""Time in s to wait for an answer after the time limit of the load."""


def stack_settings(
    stack: Stack,
    addresses: Mapping[str, str],
    spoken: Mapping[str, str] = MappingProxyType({}),
    ask: Transport = "none",
) -> tuple[str, ...]:
    """Return a stack's settings, as JSON that is sent with each load."""
    places = places_of(stack.serving, addresses)
    by_host = {host: _one(stack.protocols(host, spoken)) for host in places}
    fields = {
        "hosts": places,
        "protocol": by_host | {"default": stack.protocol}
        if stack.discovery == "as-recorded"
        else "h2"
        if stack.discovery == "alt-svc"
        else stack.protocol,
        "tls": {
            "version": "1.2" if stack.tls == "1.2" else "1.3",
            "resumption": stack.resumption,
            "early_data": stack.early_data,
            "post_quantum": stack.post_quantum,
            **({"ml_dsa": True} if stack.certificate in ML_DSA else {}),
            **(
                {"certificate_compression": stack.certificate_compression}
                if stack.certificate_compression != "none"
                else {}
            ),
        },
        "tcp": {"fast_open": stack.fast_open},
        "alt_svc": stack.discovery == "alt-svc",
    }
    return (msgspec.json.encode(fields, order="sorted").decode(),)


def _one(protocols: frozenset[str]) -> str:
    return min(protocols)


@dataclass(frozen=True)
class Loader:
    """A running load generator, which `loader` starts."""

    process: JsonProcess
    stack: Mapping[str, Any]
    """The stack's settings, as `stack_settings` returns them."""
    ca: Path
    forget_cookies: Callable[[], None]
    """Makes the kernel forget its TCP Fast Open cookies."""
    key_log: Path | None = None

    @property
    def itself(self) -> str:
        version = self.process.greeting.get("version", "")
        return f"{_PROGRAM} {version}, nothing remembered between visits"

    def cpu_s(self) -> dict[int, float]:
        return session_cpu_s(self.process.pid)

    def proxies(self) -> tuple[str, ...]:
        return session_proxies(self.process.pid)

    @contextlib.contextmanager
    def fresh_tab(self, client: Client, page: Page | None = None) -> Iterator["LoaderTab"]:
        graph = graph_of(page) if page else None
        try:
            yield LoaderTab(self, client, graph)
        finally:
            self.process.ask("forget", dict[str, Any])
            if self.stack["tcp"]["fast_open"]:
                self.forget_cookies()


@dataclass(frozen=True)
class LoaderTab:
    """The load generator as a tab, which `Loader.fresh_tab` opens."""

    loader: Loader
    client: Client
    graph: Graph | None

    def load(self, url: str) -> Load:
        sent_s = time.time()
        if self.graph is None or url != self.graph.nodes[0].url:  # a URL such as about:blank
            return Load(outcome="loaded", sent_s=sent_s, time_origin_s=sent_s, done_ms=0.0)
        limits = {
            "time_ms": round(self.client.timeout_s * 1000),
            "bytes": _MOST_BYTES,
            "quiet_ms": round(self.client.quiet_ms),
        }
        answer = self.loader.process.ask(
            "load",
            LoaderAnswer,
            within_s=self.client.timeout_s + _GRACE_S,
            page=page_of(self.graph),
            ca=str(self.loader.ca),
            limits=limits,
            **self.loader.stack,
        )
        source = "learned" if self.graph.learned else "from structure"
        return read(
            answer, self.graph, sent_s, f"{self.graph.digest} {source}: {self.graph.source}"
        )

    def slowdown(self) -> float | None:
        return None

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        """Do nothing: the load generator has no cache."""

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        """Return the exchanges unchanged: each already has its digest."""
        return tuple(exchanges)


def loader_version() -> str:
    """Return name and version, such as ``dragstrip-loader 0.1.0``. Raises `TestbedError` if the
    program is not built."""
    program(_PROGRAM)
    return f"{_PROGRAM} {__version__}"


@contextlib.contextmanager
def loader(
    bed: Testbed, client: Client, lines: tuple[str, ...], *, every_root: bool = False
) -> Iterator[Loader]:
    """Run the load generator in the client's namespace. `lines` come from `stack_settings`;
    `every_root` is that of `BrowserSettings`. Raises `TestbedError`."""
    ca = bed.origin.every_root() if every_root else bed.origin.ca
    if ca is None:
        raise TestbedError("the load generator needs a testbed with its own CA")
    argv = ("env", *NO_PROXIES, *bed.spaces.command("client", program(_PROGRAM)))
    errors = bed.workspace / f"loader-{time.monotonic_ns()}.err"
    with json_process(_PROGRAM, argv, errors) as process:
        yield Loader(
            process=process,
            stack=msgspec.json.decode(lines[0]),
            ca=ca,
            forget_cookies=lambda: _forget_cookies(bed),
        )


def _forget_cookies(bed: Testbed) -> None:
    bed.spaces.run("client", "ip", "tcp_metrics", "flush", "all")
