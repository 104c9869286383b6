"""Background load. TCP and UDP by iperf3 (https://software.es.net/iperf), with one server and one
client per load; QUIC by `dragstrip.testbed.bulk_quic`."""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dragstrip.model.background import Background, BackgroundReport
from dragstrip.model.family import HEADER_BYTES, UDP_HEADER_BYTES, Family
from dragstrip.model.network import ETHERNET_MTU
from dragstrip.testbed.bulk_quic import BulkQuic, bulk_quic
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import Link
from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces
from dragstrip.testbed.net.wires import ENDS
from dragstrip.testbed.process import until_stdin_ends

_FIRST_PORT = 5201
_FLOWING_PACKETS = 20
"""Number of packets in a load's direction from which the load counts as running."""
_LOOK_S = 0.02


@dataclass(frozen=True)
class RunningBackground:
    """Running background loads, which `background` starts."""

    loads: Sequence[Background]
    clients: Sequence["subprocess.Popen[bytes] | BulkQuic"]

    def stop(self) -> tuple[BackgroundReport, ...]:
        """End every flow and return what each load sent. Raises `TestbedError` if a load had
        failed."""
        return tuple(
            client.report()
            if isinstance(client, BulkQuic)
            else _report(load, client.communicate()[0])
            for load, client in zip(self.loads, self.clients, strict=True)
        )


@contextlib.contextmanager
def background(
    spaces: Namespaces,
    link: Link,
    loads: Sequence[Background],
    family: Family = 4,
    *,
    patience_s: float = 30.0,
) -> Iterator[RunningBackground]:
    """Run `loads` over an address family to the end of the context. The context begins when the
    longest lead time is over.

    The lead times begin when packets of each load are seen in the link. Raises `TestbedError`.
    """
    if any(load.kind != "quic" for load in loads) and not shutil.which("iperf3"):
        raise TestbedError("background load needs iperf3: install the package iperf3")
    with contextlib.ExitStack() as stack:
        for i, load in enumerate(loads):
            if load.kind == "quic":
                continue
            sink: NamespaceName = "client" if load.direction == "down" else "origin"
            server = stack.enter_context(_child(spaces, sink, *_server(i)))
            assert server.stdout
            while line := server.stdout.readline():
                if b"listening" in line:
                    break
        clients: list[subprocess.Popen[bytes] | BulkQuic] = []
        for i, load in enumerate(loads):
            if load.kind == "quic":
                clients.append(stack.enter_context(bulk_quic(spaces, load, i, family)))
                continue
            source: NamespaceName = "origin" if load.direction == "down" else "client"
            asked = _client(i, load, family)
            clients.append(stack.enter_context(_child(spaces, source, *asked)))
        if loads:
            _await_flow(link, loads, patience_s)
            time.sleep(max(load.lead_ms for load in loads) / 1000)
        yield RunningBackground(loads, clients)


def _server(i: int) -> list[str]:
    return ["iperf3", "--server", "--one-off", "--forceflush", "--port", str(_FIRST_PORT + i)]


def _client(i: int, load: Background, family: Family) -> list[str]:
    to = ENDS[family]["client" if load.direction == "down" else "origin"]
    argv = ["iperf3", "--client", to, "--port", str(_FIRST_PORT + i), "--json", "--time", "0"]
    argv += ["--parallel", str(load.flows)]
    if load.rate_mbps is None:
        return [*argv, "--congestion", load.congestion]
    payload = ETHERNET_MTU - HEADER_BYTES[family] - UDP_HEADER_BYTES
    payload_bps = round(load.rate_mbps * 1e6 * payload / ETHERNET_MTU)
    return [*argv, "--udp", "--bitrate", str(payload_bps), "--length", str(payload)]


def _await_flow(link: Link, loads: Sequence[Background], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        report = link.report()
        seen = {"down": report.down.packets_in, "up": report.up.packets_in}
        if all(seen[load.direction] >= _FLOWING_PACKETS * load.flows for load in loads):
            return
        time.sleep(_LOOK_S)
    raise TestbedError(f"the background load did not start within {patience_s:g} s")


@contextlib.contextmanager
def _child(
    spaces: Namespaces, where: NamespaceName, *argv: str
) -> Iterator["subprocess.Popen[bytes]"]:
    command = spaces.command(where, *until_stdin_ends(*argv))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        try:
            yield child
        finally:
            assert child.stdin
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()


class _Sum(msgspec.Struct, frozen=True):
    seconds: float = 0.0
    bytes: int = 0


class _End(msgspec.Struct, frozen=True):
    sum_sent: _Sum = _Sum()
    sum: _Sum = _Sum()  # only in the result of a UDP test


class _Result(msgspec.Struct, frozen=True):
    end: _End = _End()
    error: str = ""


def _report(load: Background, output: bytes) -> BackgroundReport:
    try:
        result = msgspec.json.decode(output, type=_Result)
    except msgspec.DecodeError:
        raise TestbedError(f"background load ({load.describe()}) ended without a result") from None
    total = result.end.sum_sent if load.kind == "tcp" else result.end.sum
    if not total.bytes:
        raise TestbedError(f"background load ({load.describe()}) failed: {result.error}")
    return BackgroundReport(load=load, seconds=total.seconds, sent_bytes=total.bytes)
