"""Describes where a browser runs: its user, its host names and the certificate authorities it
trusts."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragstrip.model.chain import ML_DSA
from dragstrip.model.names import Transport
from dragstrip.model.stack import Stack
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.wires import RESOLVER_IP

_UNPRIVILEGED = 65534
AS_NOBODY = (
    "setpriv",
    f"--reuid={_UNPRIVILEGED}",
    f"--regid={_UNPRIVILEGED}",
    "--clear-groups",
)
# Other processes do not see these mounts: the mount namespace belongs to this process.
_KNOWING = """
set -e
for file in hosts nsswitch.conf; do mount --bind "$1/$file" /etc/$file; done
shift
exec "$@"
"""

# /etc/resolv.conf may be a link into /run, which the testbed has for itself.
_ASKING = """
set -e
for file in hosts nsswitch.conf resolv.conf; do
  place=$(readlink -m /etc/$file)
  [ -e "$place" ] || { mkdir -p "${place%/*}"; : > "$place"; }
  mount --bind "$1/$file" "$place"
done
shift
exec "$@"
"""


@dataclass(frozen=True)
class BrowserSettings:
    """The settings with which a browser starts. Stacks with equal settings share a browser."""

    lines: tuple[str, ...] = ()
    """Command line flags, lines of a hosts file or of preferences, or JSON, as the browser needs
    them."""
    ask: Transport = "none"
    """How the browser asks the testbed's resolver for names."""
    every_root: bool = False
    """Whether the browser trusts the authority's roots of every kind of key."""


@dataclass(frozen=True)
class BrowserPlace:
    """The place where a browser runs: its user, its files and the authority it trusts."""

    command: Callable[..., list[str]]
    """Returns the command line that runs a program in this place, given the program and its
    arguments."""
    workspace: Path
    drop_root: bool
    """Whether to run as the user `nobody`. If not, the browser runs as the caller, who has no
    privileges in this place."""
    ca: Path | None = None
    """Certificate (PEM) of an additional authority to trust."""
    every_root: Callable[[], Path | None] | None = None
    """Returns the authority's certificates (PEM) for every kind of key."""
    flags: tuple[str, ...] = ()


def living_in(home: Path) -> tuple[str, ...]:
    """Return the prefix of a command that makes a program keep its files in `home`. Without the
    prefix, some files (PulseAudio's sockets, older browsers' single-instance folders) would stay in
    the machine's /tmp."""
    return ("env", f"HOME={home}", f"TMPDIR={home}")


def fresh_home(
    place: BrowserPlace, label: str, store_in: str = ".pki/nssdb", *, every_root: bool = False
) -> Path:
    """Return a fresh HOME whose certificate store trusts the place's CA. With `every_root`, it
    trusts the CA's roots of every kind of key. Raises `TestbedError`."""
    home = Path(tempfile.mkdtemp(prefix=f"{label}-", dir=place.workspace))
    store = home / store_in
    store.mkdir(parents=True)
    certutil = shutil.which("certutil")
    if not certutil:
        raise TestbedError("certutil is missing: apt-get install libnss3-tools")
    tool = [certutil, "-d", f"sql:{store}"]
    if failed := _failure([*tool, "-N", "--empty-password"]):
        raise TestbedError(f"certutil -N in {store} failed: {failed}")
    roots = trusted(place, every_root=every_root)
    trust = [*tool, "-A", "-t", "C,,", "-n"]
    added = [_failure([*trust, f"dragstrip {n}"], root) for n, root in enumerate(roots)]
    if added and all(added):  # NSS takes no root whose key it does not know, such as ML-DSA's
        raise TestbedError(f"certutil -A in {store} failed: {added[0]}")
    if place.drop_root:
        for path in (home, *home.rglob("*")):
            os.chown(path, _UNPRIVILEGED, _UNPRIVILEGED)
    return home


def trusted(place: BrowserPlace, *, every_root: bool) -> list[str]:
    """Return the certificates (PEM) of the authority that the place trusts; see `fresh_home`."""
    file = place.every_root() if place.every_root and every_root else place.ca
    return _certificates(file) if file else []


def _certificates(file: Path) -> list[str]:
    """Return each certificate of a file in PEM; the whole text if it has none."""
    text = file.read_text()
    end = "-----END CERTIFICATE-----"
    found = [part + end for part in text.split(end)[:-1]]
    return found or [text]


def _failure(command: list[str], text: str = "") -> str:
    """Return the error of a failed command; empty if it worked."""
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stderr.strip() or f"exit {done.returncode}" if done.returncode else ""


def needs_every_root(stack: Stack) -> bool:
    """Return whether the stack's certificates need other roots than ECDSA's. Other stacks get that
    root alone: the keys of the others differ from run to run, even in virtual time."""
    return stack.certificate in ("rsa", *ML_DSA)


def with_resolver(home: Path) -> tuple[str, ...]:
    """Prefix of a command that makes it resolve names by the testbed's resolver only. The files it
    needs are written to `home`."""
    (home / "hosts").write_text("127.0.0.1 localhost\n")
    (home / "nsswitch.conf").write_text("hosts: files dns\npasswd: files\ngroup: files\n")
    (home / "resolv.conf").write_text(f"nameserver {RESOLVER_IP}\n")
    return ("unshare", "--mount", "sh", "-c", _ASKING, "sh", str(home))


def with_names(home: Path, lines: Iterable[str]) -> tuple[str, ...]:
    """Return the prefix of a command that makes a program resolve only the names in these lines of
    a hosts file. The files that this needs are written to `home`."""
    (home / "hosts").write_text("\n".join(("127.0.0.1 localhost", *lines, "")))
    (home / "nsswitch.conf").write_text("hosts: files\npasswd: files\ngroup: files\n")
    return ("unshare", "--mount", "sh", "-c", _KNOWING, "sh", str(home))


@contextlib.contextmanager
def child(place: BrowserPlace, errors: Path, *argv: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a child process, which ends with the context together with its descendants. Its stdin and
    stdout are pipes."""
    with (
        errors.open("wb") as said,
        subprocess.Popen(
            place.command(*argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
