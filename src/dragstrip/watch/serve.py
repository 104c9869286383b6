"""Serves the live page on this machine's loopback, for `dragstrip watch` or during a run."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from dragstrip.model.errors import InputError
from dragstrip.watch.app import app
from dragstrip.watch.follow import niced

HOST = "127.0.0.1"
WATCH_PORT = 8723
_SOON_S = 0.2
_LAST_LOOK_S = 1.5
"""Seconds to keep serving after a run, so that an open page shows the last visit and the end."""


def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. `port` 0 takes any free port. Raises `CapsuleError`, and `InputError` if
    the port is taken."""
    with _listening(port) as listener:
        server = _server(folder)
        niced()
        ready(_address(listener))
        server.run(sockets=[listener])


@contextlib.contextmanager
def watching(folder: Path, ready: Callable[[str], None]) -> Iterator[None]:
    """Serve in a background thread during a run, as soon as the folder holds a capsule."""
    with _listening(WATCH_PORT, or_any=True) as listener:
        ending = threading.Event()
        started: list[uvicorn.Server] = []

        def run() -> None:
            niced()
            while not (folder / "manifest.json").exists():
                if ending.wait(_SOON_S):
                    return
            started.append(_server(folder))
            ready(_address(listener))
            started[0].run(sockets=[listener])

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            if started:
                time.sleep(_LAST_LOOK_S)
                started[0].should_exit = started[0].force_exit = True
            thread.join(5)


def _server(folder: Path) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app(folder),
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )


@contextlib.contextmanager
def _listening(port: int, *, or_any: bool = False) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            if not or_any:
                raise InputError(f"--port {port}: {error.strerror}; give another, or 0") from None
            listener.bind((HOST, 0))
        listener.listen()
        yield listener


def _address(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}/"
