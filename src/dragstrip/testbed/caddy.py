"""Caddy (https://caddyserver.com) before the origin's content path, as the far end of the link.

Caddy terminates TLS, HTTP and QUIC with certificates of the throw-away CA, asks the origin over a
Unix socket for every answer, and writes an access log, which is its word on each request.
"""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.model.stack import Stack
from dragstrip.testbed.caddy_log import Line, read_lines
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.process import until_stdin_ends

PORT = 8443
"""The origin has 443; the browser's resolver leads to this one (`browsers.chromium`)."""
_HERE = 'h3=":443"; ma=86400'
_READY = "serving initial configuration"
_PATIENCE_S = 20.0
_LOOK_S = 0.005
_SOCKETS = f"--numeric --no-header --udp dport = :{PORT}"
_ABORT = f"ss --kill {_SOCKETS} > /dev/null && ss {_SOCKETS}"


@dataclass(frozen=True)
class Front:
    """What Caddy answers for, and where it asks."""

    folder: Path
    """Not there yet; Caddy's configuration, log and ticket keys."""
    plain: Path
    """The origin's Unix socket."""
    addresses: Sequence[str]
    certificates: Sequence[Mapping[str, str]]
    """Pairs of `certificate` and `key` in PEM."""


class Caddy:
    """One configuration at a time. Ending the process is what ends its connections for certain: a
    new configuration leaves requests under way, and QUIC's listener, as they were."""

    def __init__(self, spaces: Namespaces, front: Front) -> None:
        """Raises `TestbedError` where there is no Caddy."""
        if not shutil.which("caddy"):
            raise TestbedError("caddy is missing: apt-get install caddy, or race other stacks")
        front.folder.mkdir()
        self._spaces = spaces
        self._front = front
        self._folder = front.folder
        self._wish: tuple[str, bool] | None = None
        self._child: subprocess.Popen[bytes] | None = None

    def tune(self, stack: Stack) -> None:
        """Run with the stack's TLS. What else it asks is the kernel's or cannot be had, which
        `Stack` refuses. Raises `TestbedError`."""
        wish = (stack.tls, stack.resumption)
        if wish != self._wish:
            self.stop()
            config = configuration(self._front, tls=stack.tls, tickets=stack.resumption)
            (self._folder / "caddy.json").write_bytes(msgspec.json.encode(config))
            self._wish = wish
        if not self._child:
            self.start()

    def close(self) -> None:
        """End every connection; session tickets stay good."""
        if self._child:
            self.stop()
            self._part_from_clients()
            self.start()

    def _part_from_clients(self) -> None:
        """Caddy leaves without a word to its QUIC clients, so their sockets are aborted."""
        left = self._spaces.run("client", "sh", "-c", _ABORT)
        if left:
            raise TestbedError(f"the kernel (CONFIG_INET_DIAG_DESTROY) does not abort {left}")

    def lines(self) -> list[Line]:
        """What was asked for since the last call, each written when its request ended."""
        return read_lines(self._folder / "access.json")

    def start(self) -> None:
        said = self._folder / "caddy.err"
        argv = ["caddy", "run", "--config", str(self._folder / "caddy.json")]
        command = ["env", f"HOME={self._folder}", *until_stdin_ends(*argv)]
        with said.open("wb") as errors:
            self._child = subprocess.Popen(
                self._spaces.command("origin", *command),
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        deadline = time.monotonic() + _PATIENCE_S
        while _READY not in (text := said.read_text(errors="replace")):
            if "Error:" in text or time.monotonic() > deadline:
                self.stop()
                raise TestbedError(f"caddy did not start: {' '.join(text.splitlines()[-2:])}")
            time.sleep(_LOOK_S)

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


def configuration(front: Front, *, tls: str, tickets: bool) -> dict[str, Any]:
    """Caddy's JSON.

    It listens on each address, because its QUIC answers from the route's own address if it listens
    on all of them. Ticket keys are kept on disk, so they survive a restart; nothing else does.

    Source: https://caddyserver.com/docs/json
    """
    server = {
        "listen": [f"{address}:{PORT}" for address in front.addresses],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{"protocol_min": f"tls{tls}", "protocol_max": f"tls{tls}"}],
        "routes": [
            # Over QUIC Caddy does not tell of itself, and Chromium would have it answer six images
            # at a time (decision 0011).
            {
                "match": [{"protocol": "http/3"}],
                "handle": [{"handler": "headers", "response": {"set": {"Alt-Svc": [_HERE]}}}],
            },
            {
                "handle": [
                    {
                        "handler": "reverse_proxy",
                        "transport": {"protocol": "http", "compression": False},
                        "upstreams": [{"dial": f"unix/{front.plain}"}],
                    }
                ]
            },
        ],
        "logs": {},
    }
    keys: dict[str, Any] = {"key_source": {"provider": "distributed"}}
    return {
        "admin": {"disabled": True},
        "storage": {"module": "file_system", "root": str(front.folder / "storage")},
        "logging": {
            "logs": {
                "default": {"exclude": ["http.log.access"]},
                "access": {
                    "include": ["http.log.access"],
                    "writer": {
                        "output": "file",
                        "filename": str(front.folder / "access.json"),
                        "roll": False,
                    },
                },
            }
        },
        "apps": {
            # Ending waits no longer than this (ns) for requests under way.
            "http": {"grace_period": 1_000_000, "servers": {"pages": server}},
            "tls": {
                "certificates": {"load_pem": list(front.certificates)},
                "session_tickets": keys if tickets else {"disabled": True},
            },
        },
    }
