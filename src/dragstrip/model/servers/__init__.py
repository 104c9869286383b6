"""The servers a stack may name. Each is a TOML file in this folder: what it is, what it has and
cannot change, what its log does not say, and how it is started.

A study describes further ones in the same words (`[server.NAME]`, docs/reference/server.md).
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec import Struct

OURS = "dragstrip-origin"

Records = int | Literal["dynamic"]
"""Plaintext bytes of a TLS record at most, or sizes that grow from one packet to 16384 bytes."""

Driver = Literal["origin", "second-origin", "codec", "program"]
"""How the testbed runs a server: our origin; a program of ours that replays recordings itself;
one of ours that speaks its protocols before the origin; or anybody's program with a configuration
file and a log."""

PROTOCOLS = {
    "HTTP/1.0": "h1",
    "HTTP/1.1": "h1",
    "HTTP/2": "h2",
    "HTTP/2.0": "h2",
    "HTTP/3": "h3",
    "HTTP/3.0": "h3",
}
"""What access logs call a protocol, and what we call it."""


class AccessLog(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A log with a JSON object in each line, written when a request has ended; an empty object
    says nothing.

    `fields` says under which key each of these stands; ``a.b`` is a key within a key, and of
    ``a|b`` the first counts that is not empty:
    `ended` (since the Unix epoch), `took` (since its headers came), `port` (the client's),
    `protocol`, `method`, `host`, `path`, `status`, and if the server tells, `bytes` (of body) and
    `resumed`.
    """

    fields: Mapping[str, str]
    path: str = "{{ folder }}/access.log"
    protocols: Mapping[str, str] = {}
    """What it calls a protocol, where that is none of `PROTOCOLS`."""
    resumed: tuple[str | bool, ...] = (True, "true", "1")
    """What a resumed session is called."""
    seconds: Mapping[str, float] = {}
    """How many seconds the unit of `ended` and `took` has, where it is not one."""
    grain_ms: float = 0.001
    """How finely it tells `ended`. Above 1, a request began when the origin behind was asked."""

    def __post_init__(self) -> None:
        needed = {"ended", "took", "port", "protocol", "method", "host", "path", "status"}
        if lacking := needed - set(self.fields):
            raise ValueError(f"fields lacks {', '.join(sorted(lacking))}")
        if unknown := set(self.fields) - needed - {"bytes", "resumed"}:
            raise ValueError(f"fields has the unknown {', '.join(sorted(unknown))}")


class Server(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What answers at the far end of the link. Raises `ValueError` for what cannot be.

    Texts with ``{{ }}`` are Jinja templates; docs/reference/server.md has their variables.
    """

    name: str
    what: str = ""
    source: str = ""
    """Where its defaults, or what is said of it here, can be looked up."""
    driver: Driver = "program"
    protocols: tuple[str, ...] = ("h1", "h2", "h3")
    port: int = 0
    """Where it answers https; 0 chooses one by its name."""
    beside: int = 0
    """From a host's address at the origin to its address here."""
    tls_record: Records | None = None
    """What it sends; None if nobody says."""
    make: Mapping[str, str] = {}
    """What comes with it and no stack can choose, by property."""
    fixed: Mapping[str, Mapping[str, Any]] = {}
    """Fields of a stack that have one value here and no other, by transport (`tcp`, `quic`)."""
    own: Mapping[str, tuple[str, ...]] = {}
    """Fields of a stack that it decides and nobody here knows, by transport."""
    untold: Mapping[str, Mapping[str, str]] = {}
    """What its log does not say, by transport and by what the verdict would need it for."""

    command: tuple[str, ...] = ()
    """Starts it and stays. ``{{ addresses }}`` alone becomes an argument for each address."""
    environment: Mapping[str, str] = {}
    config: str = ""
    """Text of its configuration, written to ``{{ config }}``; empty gives it a JSON file with
    everything a configuration could say."""
    config_name: str = "config"
    ready: str = ""
    """What it says when it serves; empty waits until it listens on every address."""
    failed: str = ""
    """What it says when it will not."""
    log: AccessLog | None = None
    """None: nothing that it writes is taken as evidence."""
    package: str = ""
    """Where it comes from, as ``debian:nginx``; what `dragstrip servers install` fetches."""
    licence: str = ""
    digest: str = ""
    """Of the program a study was made with, so that another build is another server."""

    item: str = ""
    """Of the catalogue of old programs, for drivers `second-origin` and `codec`."""
    needs: Mapping[str, str] = {}
    """Programs it needs besides, with the Debian package of each."""
    warm_up_requests: int = 0
    """Of each protocol, over loopback, before it serves a visit."""

    def __post_init__(self) -> None:
        if self.driver == "program" and not self.command:
            raise ValueError(f"server {self.name} lacks a command that starts it")
        if unknown := set(self.protocols) - {"h1", "h2", "h3", "gquic", "spdy"}:
            raise ValueError(f"server {self.name} has the unknown protocol {min(unknown)!r}")

    def untold_of(self, transport: str) -> Mapping[str, str]:
        """Everything that nobody says of its side, for connections of this transport."""
        told = dict(self.untold.get(transport, {}))
        if self.driver == "program":
            told |= _untold_of_programs(self.log)
        return told


def _untold_of_programs(log: AccessLog | None) -> Mapping[str, str]:
    found = {
        "content": "the hash of the bodies it sent"
        + ("; known is what the origin gave to it" if log else ""),
        "idle": "connections that carried no request",
        "transport": "the transport's state, but for TCP's congestion control",
        "cpu": "the server's CPU time",
    }
    if not log:
        found |= {"requests": "the server's word on requests and protocols"}
    if not log or "resumed" not in log.fields:
        found |= {"handshakes": "resumed sessions and 0-RTT"}
    return found


@cache
def known() -> Mapping[str, Server]:
    """Name to server, from the files of this folder; a `base` gives what a file leaves out."""
    files = (f for f in resources.files(__package__).iterdir() if f.name.endswith(".toml"))
    tables = {f.name.removesuffix(".toml"): msgspec.toml.decode(f.read_bytes()) for f in files}
    found = {}
    for name, table in sorted(tables.items()):
        base = tables[table.pop("base")] if "base" in table else {}
        found[name] = msgspec.convert({**base, **table, "name": name}, Server)
    return found
