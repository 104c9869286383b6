"""Starting `dragstrip link`, as oneself or as an ordinary user, and a server to talk to."""

import contextlib
import functools
import http.server
import os
import shutil
import socket
import socketserver
import stat
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragstrip.testbed.uplink.pasta import TUN
from nobody import AS_NOBODY

_SOURCE = Path(__file__).parents[2] / "src"
MAIN = "from dragstrip.cli import main; main()"


def dragstrip(*argv: str, ordinary: bool = False) -> list[str]:
    """The program as an argument vector; skips where namespaces are not available."""
    own = [sys.executable, "-c", MAIN, *argv]
    if not ordinary:
        if os.geteuid():
            pytest.skip("needs root: interfaces are made in this network namespace")
        return own
    if os.geteuid():
        return own
    for needed in ("pasta", "nft", "setpriv") if argv[0] == "link" else ("setpriv",):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    if argv[0] == "link" and not (os.path.exists(TUN) and os.stat(TUN).st_mode & stat.S_IWOTH):
        pytest.skip(f"an ordinary user may not open {TUN} here")
    python = readable_python()
    if not python:
        pytest.skip("no interpreter, or not this checkout, can be read by an ordinary user here")
    return [*AS_NOBODY, python, "-c", MAIN, *argv]


@functools.cache
def readable_python() -> str:
    """This interpreter, or the system's, if an ordinary user can run the program with it."""
    for python in (sys.executable, "/usr/bin/python3"):
        argv = [*AS_NOBODY, python, "-c", MAIN, "--help"]
        if not subprocess.run(argv, env=environment(), capture_output=True).returncode:
            return python
    return ""


def environment(home: Path | None = None) -> dict[str, str]:
    path = os.pathsep.join((str(_SOURCE), sysconfig.get_path("purelib")))
    return {**os.environ, "PYTHONPATH": path, **({"HOME": str(home)} if home else {})}


def run(
    *argv: str, ordinary: bool = False, home: Path | None = None, text: str = ""
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        dragstrip(*argv, ordinary=ordinary),
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(home),
    )


@contextlib.contextmanager
def servers(address: str) -> Iterator[tuple[int, int]]:
    """Ports of an HTTP server and a UDP echo at one of our addresses. The HTTP server says hello,
    or sends as many bytes as the path asks for."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    class Echo(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, back = self.request
            back.sendto(data, self.client_address)

    class Web(http.server.ThreadingHTTPServer):
        address_family = family

    class Udp(socketserver.UDPServer):
        address_family = family

    quiet = functools.partial(_Quiet)
    with Web((address, 0), quiet) as web, Udp((address, 0), Echo) as udp:
        for server in (web, udp):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield web.server_address[1], udp.server_address[1]
        finally:  # a server whose socket is closed by others would spin
            web.shutdown()
            udp.shutdown()


class _Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        asked = self.path.strip("/")
        self.wfile.write(b"." * int(asked) if asked.isdigit() else b"hello")

    def log_message(self, *_: object) -> None:
        pass
