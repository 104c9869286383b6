"""Serves a Unix socket on which every line gets one line as its answer."""

import contextlib
import errno
import os
import socket
import socketserver
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from dragstrip.model.errors import InputError

_LONGEST = 1 << 16
"""Most bytes of a line."""
_REMOVE = 'cat > /dev/null; rm -f -- "$1"'
"""Shell command that outlives this process if it is killed, and removes the socket."""


@contextlib.contextmanager
def answering(path: Path, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    """Answer lines at `path` while the context is open, in a thread per connection, one line at a
    time.

    The socket file vanishes with this process, even if the process is killed. Only the caller's
    user may connect. Raises `InputError` if no socket can be at this path.
    """
    one = threading.Lock()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline(_LONGEST):
                if line.strip():
                    with one:
                        said = answer(line)
                    self.wfile.write(said + b"\n")

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Do not print a traceback for a client that hangs up."""

    _clear(path)
    mask = os.umask(0o177)
    try:
        server = Server(str(path), Handler)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        os.umask(mask)
    with server, _removed(path):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            # After this no thread is in the middle of an answer.
            one.acquire()


def _clear(path: Path) -> None:
    """Remove a socket file to which no process listens."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise InputError(f"{path}: the file exists and is no socket; give another path")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            except OSError as error:
                raise _refused(path, error) from None
            else:
                raise InputError(f"{path}: another program listens there; give another path")


@contextlib.contextmanager
def _removed(path: Path) -> Iterator[None]:
    with subprocess.Popen(
        ["sh", "-c", _REMOVE, "sh", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as watcher:
        assert watcher.stdin
        try:
            yield
        finally:
            watcher.stdin.close()


def _refused(path: Path, error: OSError) -> InputError:
    why = error.strerror or str(error)
    if error.errno is None or error.errno == errno.ENAMETOOLONG or "too long" in why:
        why = "the path is too long for a socket; give one of at most 107 bytes"
    return InputError(f"{path}: cannot listen there: {why}")
