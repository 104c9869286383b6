"""Runs any server at the far end of the link: Caddy, nginx, or one that a study defines.

The server terminates TLS, HTTP and QUIC with certificates of the throw-away CA. It forwards every
request to the origin over a Unix socket, or serves the page from a document root. The server runs
without capabilities in the origin's namespace, from which only the link leads out. Its access log
reports each request; the kernel reports the congestion control of its TCP connections.
"""

import contextlib
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.model import ech
from dragstrip.model.family import family_of, place
from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.pages.format.document_root import write_document_root
from dragstrip.pages.format.recording import PageError
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.process import until_stdin_ends
from dragstrip.testbed.servers import access_log
from dragstrip.testbed.servers.certificate_files import CertificateFiles
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.testbed.servers.packages import installed, loader
from dragstrip.testbed.servers.site import ServerSite, addresses_of, port_of
from dragstrip.testbed.servers.template import arguments, mentioned, render

_PATIENCE_S = 20.0
_LOOK_S = 0.005
_LAST_WORDS = 3
_TICKET_KEY_BYTES = 80
"""Length of a ticket key for nginx and HAProxy."""
_SHORT_KEY_BYTES = 48
"""Length of a ticket key for Apache."""
_TICKET_KEYS = 3
"""Number of ticket keys that HAProxy requires, in base64."""
_UNPRIVILEGED = (
    *("unshare", "--user", "--map-user=65534", "--map-group=65534"),
    *("--pid", "--fork", "--kill-child"),
    *("setpriv", "--no-new-privs"),
)
"""A command that runs without privileges. In its own user namespace the program is the user
`nobody` without any capability, but it can read every file that its owner can. In its own PID
namespace its workers end with it; a worker that lingers would keep the port in use."""


class Program:
    """A server that runs one configuration at a time. Each new configuration restarts the process,
    because a reload does not end requests under way, and often leaves QUIC's listener with the old
    configuration."""

    def __init__(self, server: Server, site: ServerSite) -> None:
        """Prepare the server. Raises `TestbedError` if a program is missing."""
        for needed, package in server.needs.items():
            if not shutil.which(needed):
                raise TestbedError(
                    f"{needed} is missing: apt-get install {package}, or race other stacks"
                )
        self._server, self._site = server, site
        self._home = installed(server) if server.package else None
        self._port = port_of(server)
        self._addresses = addresses_of(server, site.addresses)
        self._used = mentioned(server.config, *server.command, *server.environment.values())
        self._page: Page | None = None
        self._roots: dict[str, Path | None] = {}
        """Document root of each page; None for a page that files cannot represent."""
        self._wish: tuple[object, ...] = ()
        self._child: subprocess.Popen[bytes] | None = None
        self._heard: set[str] = set()
        """The transports on which the server was found to listen since its start."""
        self._congestion: tuple[str, ...] = ()
        site.folder.mkdir()
        self._certificates = CertificateFiles(site)
        key = bytes(range(_TICKET_KEY_BYTES))
        (site.folder / "ticket.key").write_bytes(key)
        (site.folder / "ticket48.key").write_bytes(key[:_SHORT_KEY_BYTES])
        (site.folder / "ticket.keys").write_bytes((b64encode(key) + b"\n") * _TICKET_KEYS)

    def serve(self, page: Page, *, think: bool) -> None:
        self._page = page

    def tune(self, stack: Stack, rtt_ms: float) -> None:
        """Run with the stack's TLS and protocol. The kernel sets the stack's other properties; a
        property that it cannot set is refused by `Stack`."""
        values = self._values(stack)
        config = render(self._server.config, f"server {stack.server}, config", **values)
        argv = arguments(self._server.command, **values)
        environment = [
            f"{name}={render(text, f'server {stack.server}, {name}', **values)}"
            for name, text in self._server.environment.items()
        ]
        if not config and "config" in self._used:
            config = msgspec.json.format(msgspec.json.encode(values)).decode()
        wish = argv, environment, config
        if wish != self._wish:
            self.stop()
            Path(values["config"]).write_text(config)
            self._wish = wish
        if not self._child:
            self._start(["env", *environment, *argv])
        self._stack = stack
        self._until_it_serves(stack)

    def close(self) -> None:
        if not self._child:
            return
        self._must_live()
        self.stop()
        self._part_from_clients()
        self.tune(self._stack, 0.0)

    def look(self) -> None:
        """Record the congestion control of every open TCP connection, as the kernel reports it."""
        if self._stack.transport == "quic":
            return
        shown = self._site.spaces.run(
            "origin", "ss", "--no-header", "--numeric", "--tcp", "--info", "--oneline",
            "state", "established", "sport", "=", f":{self._port}",
        )  # fmt: skip
        # Each line has the receive and send queue, both ends, and then the fields of `tcp_info`.
        lines = [line.split() for line in shown.splitlines()]
        self._congestion = tuple(words[4] for words in lines if len(words) > 4)

    def connections(self) -> tuple[Connection, ...]:
        return ()

    def log(self, behind: OriginLog) -> OriginLog:
        form = self._server.log
        found, self._congestion = self._congestion, ()
        if not form:
            return OriginLog(requests=(), connections=(), cpu_s=None, congestion=found)
        file = Path(render(form.path, "log", **self._places()))
        lines = access_log.read_lines(file, form, behind.requests)
        return OriginLog(
            requests=access_log.requests(lines, behind.requests),
            connections=access_log.connections(lines),
            cpu_s=None,
            congestion=found,
        )

    def stop(self) -> None:
        if not self._child:
            return
        assert self._child.stdin
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.close()
        try:
            self._child.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child = None

    def _places(self) -> dict[str, str]:
        folder = self._site.folder
        return {"folder": str(folder), "config": str(folder / self._server.config_name)}

    def _values(self, stack: Stack) -> dict[str, Any]:
        """Return the variables for templates, see docs/reference/server.md."""
        folder = self._site.folder
        certificates = self._certificates.like(stack.chain)
        hosts = [
            {
                "name": host,
                "address": address,
                "place": place(address, self._port),
                **certificates[host],
            }
            for host, address in self._addresses.items()
        ]
        root = self._document_root()
        whole = certificates[""]
        addresses = list(dict.fromkeys(self._addresses.values()))
        return {
            **self._places(),
            "port": self._port,
            "address": hosts[0]["address"],
            "addresses": addresses,
            "family": family_of(addresses[0]),
            "place": place(addresses[0], self._port),
            "places": [place(address, self._port) for address in addresses],
            "hosts": hosts,
            "servers": [self._server_at(address, certificates) for address in addresses],
            **whole,
            "upstream": str(self._site.plain),
            "root": str(root / hosts[0]["name"]) if root and len(hosts) == 1 else str(root or ""),
            "roots": str(root or ""),
            "home": str(self._home or ""),
            "loader": loader(self._home) if self._home and "loader" in self._used else [],
            "log": render(self._server.log.path, "log", **self._places())
            if self._server.log
            else str(folder / "access.log"),
            "ticket_key": str(folder / "ticket.key"),
            "ticket_key_48": str(folder / "ticket48.key"),
            "ticket_keys": str(folder / "ticket.keys"),
            "protocol": stack.protocol,
            "tls": stack.tls,
            "resumption": stack.resumption,
            "early_data": stack.early_data,
            "ech": [self._ech(stack)] if stack.ech != "none" else [],
        }

    def _ech(self, stack: Stack) -> dict[str, Any]:
        """Return the server's key for Encrypted Client Hello, with the certificate that it shows to
        a client that used another key."""
        shown = self._certificates.of(ech.PUBLIC_NAME, stack.chain)
        return {
            "config": b64encode(ech.OWN.config).decode(),
            "key": b64encode(ech.OWN.private).decode(),
            "certificate": shown["certificate"],
            "private": shown["key"],
        }

    def _server_at(
        self, address: str, certificates: Mapping[str, Mapping[str, str]]
    ) -> dict[str, Any]:
        """Return an address's certificates, each with the hosts that show it."""
        shown: dict[str, dict[str, Any]] = {}
        for host in (h for h, ip in self._addresses.items() if ip == address):
            paths = certificates[host]
            shown.setdefault(paths["both"], {"hosts": [], **paths})["hosts"].append(host)
        return {
            "address": address,
            "place": place(address, self._port),
            "certificates": list(shown.values()),
        }

    def _document_root(self) -> Path | None:
        """Return the page as files, if a template uses them. Raises `PageError` for a page that
        files cannot represent, unless the server reads the JSON file, which has everything."""
        asked = self._used & {"root", "roots"}
        takes_all = "config" in self._used and not self._server.config
        if not self._page or not (asked or takes_all):
            return None
        if self._page.digest not in self._roots:
            folder = self._site.folder / f"root-{self._page.digest}"
            try:
                write_document_root(self._page, folder)
                self._roots[self._page.digest] = folder
            except PageError:
                if asked:
                    raise
                self._roots[self._page.digest] = None
        return self._roots[self._page.digest]

    def _start(self, argv: list[str]) -> None:
        output = self._site.folder / "output.txt"
        command = self._site.spaces.command("origin", *_UNPRIVILEGED, *until_stdin_ends(*argv))
        self._heard.clear()
        with output.open("wb") as told:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=told,
                start_new_session=True,
            )

    def _until_it_serves(self, stack: Stack) -> None:
        kinds = {"udp"} if stack.transport == "quic" else {"tcp"}
        if stack.announces:
            kinds.add("tcp")
        deadline = time.monotonic() + _PATIENCE_S
        while not self._serves(kinds - self._heard):
            self._must_live("did not start")
            if time.monotonic() > deadline:
                self.stop()
                raise TestbedError(self._accused(f"was not ready after {_PATIENCE_S:g} s"))
            time.sleep(_LOOK_S)
        self._heard |= kinds

    def _serves(self, kinds: set[str]) -> bool:
        text = self._output() if kinds else ""
        if self._server.failed and self._server.failed in text:
            self.stop()
            raise TestbedError(self._accused("did not start"))
        if self._server.ready and kinds:
            return self._server.ready in text
        return all(not self._deaf(kind) for kind in kinds)

    def _deaf(self, kind: str) -> set[str]:
        """Return the addresses at which the server does not listen."""
        shown = self._site.spaces.run(
            "origin", "ss", "--no-header", "--numeric", "--listening", f"--{kind}"
        )
        ends = {line.split()[3] for line in shown.splitlines()}
        if any(f"{everywhere}:{self._port}" in ends for everywhere in ("*", "0.0.0.0", "[::]")):
            return set()
        return {ip for ip in self._addresses.values() if place(ip, self._port) not in ends}

    def _must_live(self, what: str = "ended by itself") -> None:
        if self._child and self._child.poll() is not None:
            code = self._child.returncode
            self.stop()
            raise TestbedError(self._accused(f"{what} (exit {code})"))

    def _accused(self, what: str) -> str:
        words = " ".join(self._output().strip().splitlines()[-_LAST_WORDS:])
        return f"server {self._server.name} {what}: {words or 'it said nothing'}"

    def _output(self) -> str:
        output = self._site.folder / "output.txt"
        return output.read_text(errors="replace") if output.exists() else ""

    def _part_from_clients(self) -> None:
        """Abort the remaining connections at both ends. Many servers do not close their clients'
        QUIC connections, and TCP's last packets would cross the link in the next visit."""
        for where, side in (("client", "dport"), ("origin", "sport")):
            sockets = f"--numeric --no-header --tcp --udp {side} = :{self._port}"
            abort = f"ss --kill {sockets} > /dev/null && ss {sockets}"
            left = self._site.spaces.run(where, "sh", "-c", abort)  # type: ignore[arg-type]
            if left:
                raise TestbedError(f"the kernel (CONFIG_INET_DIAG_DESTROY) does not abort {left}")
        # Firefox does not connect its UDP sockets, so no filter can tell whose they are. The visit
        # is over, so all of them can go.
        everything = "ss --kill --numeric --no-header --udp state unconnected > /dev/null"
        self._site.spaces.run("client", "sh", "-c", everything)
