"""Runs WPE WebKit inside a testbed, without a screen. It speaks h1 or h2 over TLS.

WPE is WebKit for devices. Its network stack is libsoup with GnuTLS, not that of Safari. Cog shows
the page, and the Web Inspector drives it. Debian unstable has all three; they run in a root folder
of their release, because WebKit starts its processes by fixed paths.

Every tab is a separate browser with its own HOME, which remembers nothing.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragstrip.browsers import devtools_pipe
from dragstrip.browsers.bodies import with_digests
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.browsers.environment import session_proxies
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.browsers.place import BrowserPlace, child, fresh_home, trusted
from dragstrip.browsers.wpe import load as wpe_load
from dragstrip.browsers.wpe.inspector import Inspector
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol
from dragstrip.model.study import Client
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.testbed import Testbed
from dragstrip.testbed.wpe import installed, version

_FIRST_PORT = 9322
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_ROOT = "/run/browser"
# The testbed has its own /run, and the browser its own mount namespace.
_ENTER = f"""
set -e
mkdir -p {_ROOT}
mount --bind "$1" {_ROOT}
mount --rbind /proc {_ROOT}/proc
mount --rbind /dev {_ROOT}/dev
mount -t tmpfs -o mode=1777 tmpfs {_ROOT}/tmp
mount -t tmpfs -o mode=1777 tmpfs {_ROOT}/run
for file in hosts nsswitch.conf ssl/certs/ca-certificates.crt; do
  mount --bind "$2/${{file##*/}}" {_ROOT}/etc/$file
done
shift 2
exec "$@"
"""
_NOBODY = ("--userspec=65534:65534", "--groups=65534")
SETTINGS = {
    "HOME": "/tmp",
    "XDG_RUNTIME_DIR": "/tmp",
    "PATH": "/usr/sbin:/usr/bin",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "GIO_USE_PROXY_RESOLVER": "dummy",
    "GSETTINGS_BACKEND": "memory",
    "NO_AT_BRIDGE": "1",
    # By default, GnuTLS prefers P-256, and other browsers X25519.
    "G_TLS_GNUTLS_PRIORITY": "NORMAL:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1",
    # The process is unprivileged and has no route out (decision 0001).
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
}
PROTOCOL: dict[str, dict[str, str]] = {"h1": {"SOUP_FORCE_HTTP1": "1"}, "h2": {}}


class Wpe:
    """The browser, which `wpe` starts. It runs one tab at a time."""

    key_log: Path | None = None
    """Always None: GnuTLS writes the secrets into the folder of one tab."""

    def __init__(
        self,
        place: BrowserPlace,
        protocol: Protocol,
        hosts: Sequence[str],
        *,
        every_root: bool = False,
    ) -> None:
        self._place = place
        self._protocol = protocol
        self._hosts = hosts
        self._every_root = every_root
        self._root = installed()
        self._ports = itertools.count(_FIRST_PORT)
        self._page: Inspector | None = None
        self._session = 0

    @property
    def itself(self) -> str:
        """The browser's version and start mode, and the name by which it introduces itself."""
        if not self._page:
            raise BrowserError("no tab of WPE WebKit is open")
        agent = wpe_load.agent(self._page)
        return f"{version()}, headless in Cog, a fresh process for each visit ({agent})"

    def cpu_s(self) -> dict[int, float]:
        """CPU seconds of each of the browser's processes, by process id."""
        return session_cpu_s(self._session)

    def proxies(self) -> tuple[str, ...]:
        """Return environment variables of the browser's processes that name a proxy."""
        return session_proxies(self._session)

    @contextlib.contextmanager
    def fresh_tab(self, client: Client, page: Page | None = None) -> Iterator["WpeTab"]:
        """Yield a tab in its own browser process. Raises `TestbedError` and `BrowserError`."""
        port = next(self._ports)
        home = fresh_home(self._place, "wpe")
        carry = (sys.executable, "-I", devtools_pipe.__file__, str(port))
        with (
            child(self._place, home / "wpe.err", *self._launch(home, port)) as browser,
            child(self._place, home / "pipe.err", *carry) as pipe,
        ):
            assert pipe.stdin
            assert pipe.stdout
            self._session = browser.pid
            self._page = Inspector(pipe.stdout.fileno(), pipe.stdin.fileno())
            try:
                self._await_page(self._page, home)
                wpe_load.make_ready(self._page, client, page.recorded_ms if page else None)
                yield WpeTab(self._page, client)
            finally:
                self._page = None

    def _await_page(self, page: Inspector, home: Path) -> None:
        """Wait until the browser has a page. Raises `TestbedError` with what it said instead."""
        try:
            page.await_page()
        except BrowserError as error:
            said = (home / "wpe.err").read_text(errors="replace").strip().splitlines()
            raise TestbedError(f"{error}: {' '.join(said[-2:]) or 'it said nothing'}") from None

    def _launch(self, home: Path, port: int) -> list[str]:
        (home / "hosts").write_text("\n".join(("127.0.0.1 localhost", *self._hosts, "")))
        (home / "nsswitch.conf").write_text("hosts: files\npasswd: files\ngroup: files\n")
        roots = trusted(self._place, every_root=self._every_root)
        (home / "ca-certificates.crt").write_text("\n".join((*roots, "")))
        inspector = {"WEBKIT_INSPECTOR_HTTP_SERVER": f"127.0.0.1:{port}"}
        environment = {**SETTINGS, **PROTOCOL[self._protocol], **inspector}
        return [
            *_ALONE,
            *("sh", "-c", _ENTER, "sh", str(self._root), str(home)),
            *("env", "-i", *(f"{name}={value}" for name, value in environment.items())),
            *("chroot", *(_NOBODY if self._place.drop_root else ()), _ROOT),
            *("/usr/bin/cog", "--platform=headless", "--enable-developer-extras=true"),
            "about:blank",
        ]


@dataclass(frozen=True)
class WpeTab:
    """The tab, which `Wpe.fresh_tab` opens."""

    page: Inspector
    client: Client

    def load(self, url: str) -> Load:
        return wpe_load.load(self.page, url, self.client)

    def slowdown(self) -> float | None:
        return None

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        """Let the next load bypass the cache."""
        self.page.call("Network.setResourceCachingDisabled", disabled=True)

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        return with_digests(self.page, "", exchanges, seed)


@contextlib.contextmanager
def wpe(
    bed: Testbed, protocol: Protocol, hosts: Sequence[str], *, every_root: bool = False
) -> Iterator[Wpe]:
    """Start the browser. It resolves only the names in `hosts`, which are lines of a hosts file.
    `every_root` is that of `BrowserSettings`. Raises `TestbedError`."""
    yield Wpe(inside(bed), protocol, hosts, every_root=every_root)
