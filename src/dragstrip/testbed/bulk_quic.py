"""Bulk QUIC as background load: its own origins and load generators, beside the page's.

Every flow is one connection. It fetches large objects, of which several are always under way.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragstrip.model.background import Background, BackgroundReport
from dragstrip.model.family import Family, place
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces
from dragstrip.testbed.net.wires import ENDS
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

_FIRST_PORT = 5401
_PORTS_PER_LOAD = 100
"""Most flows of a load. Each has its own port, because the link counts by port."""
_HOST = "bulk.test"
_OBJECT_BYTES = 4_000_000
_AT_ONCE = 3
_OBJECTS = 1000
_LONGEST_MS = 3_600_000


@dataclass(frozen=True)
class BulkQuic:
    """A running load. Made by `bulk_quic`."""

    load: Background
    origins: tuple[JsonProcess, ...]
    began: float

    def report(self) -> BackgroundReport:
        """What the flows have sent so far. Raises `TestbedError` if one had failed."""
        seconds = time.monotonic() - self.began
        told = [o.ask("connections", _Connections).connections for o in self.origins]
        transports = [c.transport for connections in told for c in connections if c.transport]
        sent = sum(transport.sent_bytes for transport in transports)
        return BackgroundReport(load=self.load, seconds=seconds, sent_bytes=sent)


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


@contextlib.contextmanager
def bulk_quic(
    spaces: Namespaces, load: Background, number: int, family: Family = 4
) -> Iterator[BulkQuic]:
    """Run the load over an address family to the end of the context; `number` tells it from
    others. Raises `TestbedError`."""
    first = _FIRST_PORT + number * _PORTS_PER_LOAD
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bulk-")))
        page = write_page(folder / "bulk.har.zip", _page())
        origins = []
        for port in range(first, first + load.flows):
            ca = folder / f"ca-{port}.pem"
            origin = _run(stack, spaces, "origin", folder, port, "--ca-out", ca, "--port", port)
            origin.ask("page", dict[str, Any], path=str(page.path))
            origin.ask("tune", dict[str, Any], quic=_quic(load))
            loader = _run(stack, spaces, "loader", folder, port, "--seed", port)
            loader.tell("load", **_fetches(place(ENDS[family]["origin"], port), ca))
            origins.append(origin)
        yield BulkQuic(load, tuple(origins), time.monotonic())


def _run(
    stack: contextlib.ExitStack, spaces: Namespaces, what: str, folder: Path, *words: object
) -> JsonProcess:
    port, *options = map(str, words)
    where: NamespaceName = "origin" if what == "origin" else "client"
    command = spaces.command(where, program(f"dragstrip-{what}"), *options)
    errors = folder / f"{what}-{port}.err"
    return stack.enter_context(json_process(f"bulk QUIC's dragstrip-{what}", command, errors))


def _page() -> Recording:
    body = bytes(_OBJECT_BYTES)
    urls = {f"https://{_HOST}/": b"bulk", f"https://{_HOST}/object": body}
    answers = tuple(Recorded(url=url, wire=wire) for url, wire in urls.items())
    return Recording(name="bulk", url=f"https://{_HOST}/", source="generated", answers=answers)


def _quic(load: Background) -> dict[str, object]:
    """Stock QUIC, as the stack `h3` has it."""
    stock = Stack(name="", protocol="h3")
    return {
        "congestion": load.congestion,
        "pacing": True,
        "slow_start_exit": stock.slow_start_exit,
        "ecn": load.congestion == "prague",
        "l4s": load.congestion == "prague",
        "initial_window_packets": stock.initial_window_packets,
        "udp_payload_bytes": stock.udp_payload_bytes,
    }


def _fetches(where: str, ca: Path) -> dict[str, object]:
    """Objects one after the other, several at once."""
    resources: list[dict[str, object]] = [{"url": f"https://{_HOST}/", "kind": "document"}]
    for i in range(1, _OBJECTS):
        after = {"resource": max(0, i - _AT_ONCE), "at": "complete"}
        resources.append({"url": f"https://{_HOST}/object", "kind": "image", "after": after})
    return {
        "page": {"resources": resources, "load_event": {"delay_ms": 0}},
        "hosts": {_HOST: where},
        "protocol": "h3",
        "ca": str(ca),
        "limits": {"time_ms": _LONGEST_MS, "bytes": _OBJECTS * _OBJECT_BYTES, "quiet_ms": 0},
    }
