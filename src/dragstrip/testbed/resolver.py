"""The resolver as a running process, behind its own path.

docs/reference/processes.md describes its protocol. The path is a second link, between a pair of
wires that carries only queries and answers.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.model.lookups import NameLookup, service_name
from dragstrip.model.names import Dns, nowhere
from dragstrip.model.network import Network
from dragstrip.model.visit import NamesReport
from dragstrip.testbed.net.link import Link, emulated_link
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import NAMES_ENDS, RESOLVER_IP, wire_names
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program


class Service(Struct, frozen=True, kw_only=True):
    """What an HTTPS record announces of a host (RFC 9460)."""

    alpn: Sequence[str]
    port: int | None = None
    hints: bool = True
    """Whether it repeats the host's addresses."""
    ech: bytes = b""
    """Keys for Encrypted Client Hello, an ECHConfigList (RFC 9848); empty for none."""

    @property
    def fields(self) -> dict[str, Any]:
        """The record in the words of the resolver."""
        said: dict[str, Any] = msgspec.to_builtins(self)
        return said


class _Log(Struct, frozen=True):
    lookups: tuple[NameLookup, ...]


class Resolver:
    """The running resolver, which `resolver` starts."""

    def __init__(self, process: JsonProcess, path: Link) -> None:
        self._process = process
        self._path = path

    def begin(
        self,
        dns: Dns | None,
        addresses: Mapping[str, str],
        services: Mapping[str, Service],
        seed: int,
        *,
        unknown: Set[str] = frozenset(),
        forget: bool = True,
    ) -> None:
        """Answer for these hosts from now on, over the path that `dns` describes; None answers at
        once. Open connections are closed, and so is the log. `unknown` hosts take a recursive
        look-up; `forget` empties the cache. Raises `TestbedError`."""
        entries = {
            host: {
                "addresses": [ip, nowhere(ip)] if dns and dns.broken_ipv6 else [ip],
                "upstream_ms": dns.upstream_ms if dns and host in unknown else 0.0,
                **({"https": services[host].fields} if host in services else {}),
            }
            for host, ip in addresses.items()
        }
        ported = {
            service_name(host, s.port): {**entries[host], "https": {**s.fields, "target": host}}
            for host, s in services.items()
            if s.port is not None
        }
        names = {**entries, **ported}
        self._ask("close")
        self._ask("names", names=names, ttl_s=(dns or Dns()).ttl_s, forget=forget)
        self._process.ask("log", _Log)
        if dns is None:
            self._path.passthrough()
        else:
            self._path.configure(network_of(dns), seed)

    def report(self) -> NamesReport:
        """Look-ups and the path's counters since `begin`."""
        return NamesReport(lookups=self._process.ask("log", _Log).lookups, path=self._path.report())

    def at_once(self) -> None:
        """Carry packets without delay, after a visit."""
        self._path.passthrough()

    def _ask(self, cmd: str, **fields: Any) -> None:
        self._process.ask(cmd, dict[str, Any], **fields)


def network_of(dns: Dns) -> Network:
    """The path to the resolver as a network."""
    return Network(name="names", down=dns.way, up=dns.way)


@contextlib.contextmanager
def resolver(
    spaces: Namespaces, workspace: Path, certificate: Mapping[str, str]
) -> Iterator[Resolver]:
    """Run the resolver in its own namespace, with UDP, TCP and HTTPS.

    `certificate` has PEM texts: `certificate` and `key`. Raises `TestbedError`.
    """
    wire_names(spaces)
    argv = [program("dragstrip-resolver"), "--address", RESOLVER_IP]
    for name in ("certificate", "key"):
        file = workspace / f"resolver-{name}.pem"
        file.write_text(certificate[name])
        argv += [f"--{name}", str(file)]
    with (
        emulated_link(spaces, workspace / "names-link.err", ends=NAMES_ENDS) as path,
        json_process(
            "dragstrip-resolver",
            spaces.command("resolver", *argv),
            workspace / "resolver.err",
        ) as process,
    ):
        path.passthrough()
        yield Resolver(process, path)
