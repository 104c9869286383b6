"""Firefox inside a testbed, driven by WebDriver BiDi over a pipe.

Preferences restrict Firefox to one protocol. Each visit gets its own user context, which shares no
sockets, TLS tickets, cache or cookies with others. Firefox has no resolver rules, so it runs in a
mount namespace where it resolves names only by the testbed's /etc/hosts.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dragstrip.browsers import devtools_pipe
from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.browsers.environment import session_proxies
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.firefox import bidi
from dragstrip.browsers.load import Load, done_of
from dragstrip.browsers.place import (
    AS_NOBODY,
    child,
    fresh_home,
    living_in,
    with_names,
    with_resolver,
)
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import MIXES, Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.wires import RESOLVER_IP
from dragstrip.testbed.servers.site import PORT, addresses_of, port_of
from dragstrip.testbed.testbed import Testbed

_PROGRAMS = (Path("/usr/lib/firefox-esr/firefox-esr"), Path("/usr/lib/firefox/firefox"))
_KEY_LOG = "keys.log"
_PROFILE = "profile"
_LISTENING = "WebDriverBiDiServer.json"
"""Name of a file in the profile. Firefox writes its address there once it listens."""
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Command that gives Firefox its own PID namespace. Firefox's crash helper has its own session, and
would otherwise outlive the browser."""
_START_S, _LOOK_S = 60.0, 0.02
# The process is unprivileged and has no route out (decision 0001).
_NO_SANDBOX = {
    f"MOZ_DISABLE_{what}_SANDBOX": "1"
    for what in ("CONTENT", "GMP", "NPAPI", "RDD", "SOCKET_PROCESS", "UTILITY")
}

Preference = bool | int | str
_PREF = "user_pref("
_PREFERENCES: Mapping[str, Preference] = {
    "remote.active-protocols": 1,  # WebDriver BiDi
    # Only the page uses the network.
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.chrome.site_icons": False,
    "browser.newtabpage.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.startup.homepage": "about:blank",
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.trr.mode": 5,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.server": "",
    # Recorded URLs are requested as they were recorded, and names are in /etc/hosts.
    "dom.security.https_first": False,
    "network.dns.native_https_query": False,
    "network.proxy.type": 0,
    # Timestamps keep their precision, and no cache is on disk.
    "privacy.reduceTimerPrecision": False,
    "browser.cache.disk.enable": False,
    "browser.cache.memory.capacity": 256 * 1024,
    "browser.cache.memory.max_entry_size": 50 * 1024,
}
_ASKS: Mapping[Transport, Mapping[str, Preference]] = {
    "udp": {"network.dns.native_https_query": True},
    "doh": {
        "network.trr.mode": 3,  # by HTTPS, and no other way
        "network.trr.uri": f"https://{RESOLVER_IP}/dns-query",
        "network.trr.confirmationNS": "skip",  # no query that no page asks for
        "network.trr.useGET": False,  # hickory-dns knows POST only (RFC 8484 section 4.1)
        "network.trr.allow-rfc1918": True,  # answers are private addresses
    },
}
_PROTOCOL: Mapping[str, Mapping[str, Preference]] = {
    "h1": {"network.http.http2.enabled": False, "network.http.http3.enable": False},
    "h2": {"network.http.http3.enable": False},
    "h3": {
        "network.http.http3.enable": True,
        # With True, Firefox would use h2 for a private authority, without a message.
        "network.http.http3.disable_when_third_party_roots_found": False,
    },
}


def stack_lines(
    stack: Stack,
    addresses: Mapping[str, str],
    spoken: Mapping[str, str] = MappingProxyType({}),
    ask: Transport = "none",
) -> tuple[str, ...]:
    """Return lines of a hosts file for the stack's server, and lines with the preferences that the
    stack needs. A browser that asks a resolver gets no hosts."""
    found = addresses_of(stack.serving, addresses)
    port = port_of(stack.serving)
    wanted: dict[str, Preference] = {}
    if stack.transport == "tcp":
        wanted["security.tls.enable_0rtt_data"] = stack.early_data
    if port != PORT:
        wanted["network.socket.forcePort"] = f"{PORT}={port}"
    if stack.protocol == "h3" and not MIXES[stack.discovery]:
        over_quic = [host for host in found if "h3" in stack.protocols(host, spoken)]
        known = ",".join(f"{host};h3=:{port}" for host in over_quic)
        wanted["network.http.http3.alt-svc-mapping-for-testing"] = known
        wanted["network.http.http3.force-use-alt-svc-mapping-for-testing"] = True
        wanted["network.http.http3.backup_timer_delay"] = 0  # no TCP connection opened as a reserve
    hosts = (f"{ip} {host}" for host, ip in found.items()) if ask == "none" else ()
    return (*hosts, *(_line(name, value) for name, value in wanted.items()))


def _line(name: str, value: Preference) -> str:
    return f"{_PREF}{json.dumps(name)}, {json.dumps(value)});"


@dataclass(frozen=True)
class Firefox:
    """A running browser, which `firefox` starts."""

    cdp: Cdp
    session: int
    """Session id (setsid(2)) of all the browser's processes."""
    told: Mapping[str, Any]
    """The capabilities that the browser reported for its WebDriver session."""
    key_log: Path | None = None
    """File with the TLS secrets of all the browser's visits; None unless packets are captured."""

    @property
    def itself(self) -> str:
        """The browser's product, version and start mode, as it reports them."""
        headless = "headless" if self.told.get("moz:headless") else "in a window"
        version = f"{self.told['browserName']}/{self.told['browserVersion']}"
        fresh = "a fresh user context for each visit"
        return f"{version} (build {self.told['moz:buildID']}), {headless}, {fresh}"

    def cpu_s(self) -> dict[int, float]:
        """CPU seconds of each of the browser's processes, by process id."""
        return session_cpu_s(self.session)

    def proxies(self) -> tuple[str, ...]:
        """Return environment variables of the browser's processes that name a proxy."""
        return session_proxies(self.session)

    @contextlib.contextmanager
    def fresh_tab(self, client: Client, page: Page | None = None) -> Iterator["FirefoxTab"]:
        user = self.cdp.call("browser.createUserContext")["userContext"]
        try:
            made = self.cdp.call("browsingContext.create", type="tab", userContext=user)
            tab: str = made["context"]
            recorded_ms = page.recorded_ms if page else None
            bidi.make_ready(self.cdp, tab, client, recorded_ms, done_of(page))
            yield FirefoxTab(self.cdp, tab, client, page)
        finally:
            with contextlib.suppress(BrowserError):  # the context ends with its tabs
                self.cdp.call("browser.removeUserContext", userContext=user)
            self.cdp.events.clear()


@dataclass(frozen=True)
class FirefoxTab:
    """A tab in its own user context, which `Firefox.fresh_tab` opens."""

    cdp: Cdp
    tab: str
    client: Client
    page: Page | None = None

    def load(self, url: str) -> Load:
        return bidi.load(self.cdp, self.tab, url, self.client, done_of(self.page, url))

    def slowdown(self) -> float | None:
        return None

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        """Do nothing: BiDi cannot clear the cache. Loads bypass it instead."""
        self.cdp.call("network.setCacheBehavior", cacheBehavior="bypass", contexts=[self.tab])

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        return bidi.with_digests(self.cdp, exchanges, seed)


def find_firefox() -> Path:
    """Return the path of the Firefox program. Raises `TestbedError`, which says how to install
    Firefox."""
    for program in _PROGRAMS:
        if program.is_file():
            return program
    raise TestbedError("Firefox is missing: apt-get install firefox-esr")


def firefox_version() -> str:
    """Return name and version, such as ``Firefox 153.7.0esr``. Raises `TestbedError`."""
    done = subprocess.run([find_firefox(), "--version"], capture_output=True, text=True)
    return done.stdout.strip().removeprefix("Mozilla ")


@contextlib.contextmanager
def firefox(
    bed: Testbed,
    protocol: Protocol,
    client: Client,
    lines: Sequence[str],
    *,
    ask: Transport = "none",
    every_root: bool = False,
) -> Iterator[Firefox]:
    """Run a browser that speaks only `protocol` and reaches only the testbed's hosts.

    `lines` come from `stack_lines`; `ask` and `every_root` are those of `BrowserSettings`. The
    browser trusts the origin's throw-away CA and verifies certificates. Raises `TestbedError` and
    `BrowserError`.
    """
    program, place = find_firefox(), inside(bed)
    home = fresh_home(place, f"firefox-{protocol}", _PROFILE, every_root=every_root)
    prefs = [line for line in lines if line.startswith(_PREF)]
    usual = {**_PREFERENCES, **_PROTOCOL[protocol], **_ASKS.get(ask, {})}
    prefs += [_line(name, value) for name, value in usual.items()]
    (home / _PROFILE / "user.js").write_text("\n".join((*prefs, "")))
    environment = {"MOZ_HEADLESS": "1", "MOZ_CRASHREPORTER_DISABLE": "1", **_NO_SANDBOX}
    if client.pcap:
        environment["SSLKEYLOGFILE"] = str(home / _KEY_LOG)
    hosts = [line for line in lines if not line.startswith(_PREF)]
    argv = (
        *_ALONE,
        *(with_names(home, hosts) if ask == "none" else with_resolver(home)),
        *(AS_NOBODY if place.drop_root else ()),
        *living_in(home),
        *(f"{name}={value}" for name, value in environment.items()),
        *(str(program), "--headless", "--no-remote", "--profile", str(home / _PROFILE)),
        *("--remote-debugging-port", "0", "about:blank"),
    )
    with child(place, home / "firefox.err", *argv) as browser:
        port = _port(browser, home)
        carry = (sys.executable, "-I", devtools_pipe.__file__, str(port), "/session")
        with child(place, home / "pipe.err", *carry) as pipe:
            assert pipe.stdin
            assert pipe.stdout
            cdp = Cdp(pipe.stdout.fileno(), pipe.stdin.fileno())
            accept = {"unhandledPromptBehavior": {"default": "accept"}}
            session = cdp.call("session.new", capabilities={"alwaysMatch": accept})
            yield Firefox(
                cdp=cdp,
                session=browser.pid,
                told=session["capabilities"],
                key_log=home / _KEY_LOG if client.pcap else None,
            )


def _port(browser: "subprocess.Popen[bytes]", home: Path) -> int:
    """Return the port on which the browser listens. Raises `TestbedError` if it never listens."""
    deadline = time.monotonic() + _START_S
    while browser.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(json.loads((home / _PROFILE / _LISTENING).read_text())["ws_port"])
        time.sleep(_LOOK_S)
    said = (home / "firefox.err").read_text(errors="replace").strip().splitlines()
    raise TestbedError(f"Firefox did not start: {' '.join(said[-2:]) or 'it said nothing'}")
