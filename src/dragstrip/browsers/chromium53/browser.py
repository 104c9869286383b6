"""Runs Chromium 53 (QtWebEngine 5.8) inside a testbed. It speaks h1, h2 or SPDY/3.1, whichever the
server chooses.

Every tab is a separate process with its own HOME: this browser has no contexts, and each process
remembers servers (TLS sessions, SPDY support, cache). The browser has no resolver rules either, so
it runs in a mount namespace where it resolves names only by the testbed's /etc/hosts. The launcher
(legacy/chromium53) switches SPDY/3.1 on.
"""

import contextlib
import itertools
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dragstrip.browsers import devtools_pipe
from dragstrip.browsers.bodies import with_digests
from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.chromium53 import load as load53
from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.browsers.environment import session_proxies
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.browsers.place import (
    AS_NOBODY,
    BrowserPlace,
    child,
    fresh_home,
    living_in,
    with_names,
)
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.servers.site import addresses_of
from dragstrip.testbed.testbed import Testbed

_FIRST_PORT = 9222
_PREPARED = 'mount --bind "$1" "$2/chromium"; shift 2; exec "$@"'


class Chromium53:
    """The browser, which `chromium53` starts. It runs one tab at a time, on the X server
    `display`."""

    key_log: Path | None = None
    """Always None: this browser writes no TLS secrets."""

    def __init__(
        self,
        place: BrowserPlace,
        client: Client,
        hosts: Sequence[str],
        display: str,
        *,
        every_root: bool = False,
    ) -> None:
        self._place = place
        self._client = client
        self._hosts = hosts
        self._every_root = every_root
        self._display = display
        self._program = installed("chromium53")
        self._ports = itertools.count(_FIRST_PORT)
        self._cdp: Cdp | None = None
        self._session = 0

    @property
    def cdp(self) -> Cdp:
        """DevTools of the running tab. Raises `BrowserError` if none runs."""
        if not self._cdp:
            raise BrowserError("no tab of Chromium 53 is open")
        return self._cdp

    @property
    def itself(self) -> str:
        """The browser's product, version and start mode, as it reports them."""
        agent = load53.agent(self.cdp)
        return f"{agent}, in a window on a screen in memory, a fresh process for each visit"

    def cpu_s(self) -> dict[int, float]:
        """CPU seconds of each of the browser's processes, by process id."""
        return session_cpu_s(self._session)

    def proxies(self) -> tuple[str, ...]:
        """Return environment variables of the browser's processes that name a proxy."""
        return session_proxies(self._session)

    @contextlib.contextmanager
    def fresh_tab(self, client: Client, page: Page | None = None) -> Iterator["Chromium53Tab"]:
        """Yield a tab in its own browser process. Raises `TestbedError` and `BrowserError`."""
        with self._fresh() as cdp:
            load53.make_ready(cdp, client, page.recorded_ms if page else None)
            yield Chromium53Tab(cdp, client)

    @contextlib.contextmanager
    def _fresh(self) -> Iterator[Cdp]:
        """Yield a fresh browser with one tab, at about:blank."""
        port = next(self._ports)
        home = self._home()
        carry = (sys.executable, "-I", devtools_pipe.__file__, str(port))
        with (
            child(self._place, home / "chromium.err", *self._launch(home, port)) as browser,
            child(self._place, home / "pipe.err", *carry) as pipe,
        ):
            assert pipe.stdin
            assert pipe.stdout
            self._session = browser.pid
            self._cdp = Cdp(pipe.stdout.fileno(), pipe.stdin.fileno())
            try:
                yield self._cdp
            finally:
                self._cdp = None

    def _home(self) -> Path:
        home = fresh_home(self._place, "chromium53", every_root=self._every_root)
        (home / "chromium").mkdir()
        return home

    def _launch(self, home: Path, port: int) -> list[str]:
        width, height = self._client.viewport
        program = home / "chromium" / "libexec" / self._program.name
        settings = {
            "QTWEBENGINE_REMOTE_DEBUGGING": str(port),
            "QTWEBENGINE_DISABLE_SANDBOX": "1",  # unprivileged, with no route out (decision 0001)
            "DISPLAY": self._display,
            "QT_QPA_PLATFORM": "xcb",
            "QT_SCALE_FACTOR": f"{self._client.device_scale:g}",
        }
        return [
            *with_names(home, self._hosts),
            *("sh", "-c", _PREPARED, "sh", str(self._program.parents[1]), str(home)),
            *(AS_NOBODY if self._place.drop_root else ()),
            *living_in(home),
            *(f"{name}={value}" for name, value in settings.items()),
            *(str(program), str(program.with_name("window.qml")), str(width), str(height)),
        ]


@dataclass(frozen=True)
class Chromium53Tab:
    """The tab, which `Chromium53.fresh_tab` opens."""

    cdp: Cdp
    client: Client

    def load(self, url: str) -> Load:
        return load53.load(self.cdp, url, self.client)

    def slowdown(self) -> float | None:
        return None

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        """Do nothing: QtWebEngine answers clearBrowserCache without clearing. Loads bypass the
        cache instead."""
        self.cdp.call("Network.setCacheDisabled", load53.TAB, cacheDisabled=True)

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        return with_digests(self.cdp, load53.TAB, exchanges, seed)


@contextlib.contextmanager
def _x_server(place: BrowserPlace, client: Client) -> Iterator[str]:
    """Run an X server without a screen; yield its display.

    The server listens on an abstract socket, which belongs to the network namespace, so servers of
    other testbeds cannot collide with it. The server writes a keymap to /tmp under a name that
    follows from the display, so it gets its own /tmp.
    """
    if not shutil.which("Xvfb"):
        raise TestbedError("Xvfb is missing: apt-get install xvfb")
    width, height = client.viewport
    screen = ["-screen", "0", f"{width}x{height}x24"]
    quiet = ["-displayfd", "1", "-nolock", "-nolisten", "tcp", "-nolisten", "unix"]
    alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /tmp && exec "$@"', "sh"]
    argv = [*alone, *(AS_NOBODY if place.drop_root else ()), "Xvfb", *quiet, *screen]
    errors = place.workspace / "xvfb.err"
    with child(place, errors, *argv) as process:
        assert process.stdout
        number = process.stdout.readline().decode().strip()
        if not number:
            said = errors.read_text(errors="replace").strip().splitlines()
            raise TestbedError(f"Xvfb did not start: {' '.join(said[-2:]) or 'it said nothing'}")
        yield f":{number}"


@contextlib.contextmanager
def chromium53(
    bed: Testbed, client: Client, hosts: Sequence[str], *, every_root: bool = False
) -> Iterator[Chromium53]:
    """Start the browser. It resolves only the names in `hosts`, which are lines of a hosts file.
    `every_root` is that of `BrowserSettings`."""
    place = inside(bed)
    with _x_server(place, client) as display:
        yield Chromium53(place, client, hosts, display, every_root=every_root)


def host_lines(
    stack: Stack,
    addresses: Mapping[str, str],
    spoken: Mapping[str, str] = MappingProxyType({}),
    ask: Transport = "none",
) -> tuple[str, ...]:
    """Return lines of a hosts file that map the testbed's hosts to the stack's server."""
    found = addresses_of(stack.serving, addresses)
    return tuple(f"{ip} {host}" for host, ip in found.items())
