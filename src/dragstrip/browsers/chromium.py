"""Runs Chromium's headless-shell inside a testbed, driven over a CDP pipe.

The flags that force a protocol were checked against the origin's log (tests/browser). One process
speaks one protocol. A visit gets a fresh browser context, which shares no sockets, TLS tickets,
cache or cookies with any other.
"""

import base64
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

from dragstrip.browsers.bodies import with_digests
from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.browsers.environment import NO_PROXIES, session_proxies
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.generations import CLEARS, GENERATIONS, Generation, generation_of
from dragstrip.browsers.load import Load, done_of, fresh_session, load
from dragstrip.browsers.place import (
    AS_NOBODY,
    BrowserPlace,
    fresh_home,
    living_in,
    with_resolver,
)
from dragstrip.browsers.slowdown import measured
from dragstrip.browsers.workers import follow_shared
from dragstrip.model.browsers import CHROMIUM, TODAY, is_path
from dragstrip.model.family import bracketed
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import MIXES, Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.testbed.net.wires import RESOLVER_IP
from dragstrip.testbed.servers.site import PORT, addresses_of, places_of, port_of
from dragstrip.testbed.testbed import Testbed

_QUIET_FLAGS = (
    # A window that the page opens would hide the page, and a hidden page is not drawn. Without
    # this flag headless Chromium opens windows that a desktop's would block.
    "--block-new-web-contents",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-renderer-backgrounding",
    # One renderer serves all frames, so that every request of the page is reported in one place.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,OptimizationHints,MediaRouter",
    "--disable-sync",
    "--mute-audio",
    "--no-first-run",
    "--no-proxy-server",
)

_SHOWN = Path("/run/browser")
# The user that the browser runs as may have no access to the cache folder. Processes outside do not
# see this mount: the testbed has its own /run, and the browser its own mount namespace.
_WITH_PROGRAM = f'mkdir -p {_SHOWN}; mount --bind "$1" {_SHOWN}; shift; exec "$@"'
_WITH_NAMES = 'mount --bind "$1" /etc/resolv.conf; shift; exec "$@"'

_NOT_RECORDED = "/.well-known/dragstrip"
"""A path that our origin answers with 404, Alt-Svc and a short text. No cache keeps the answer."""
_ASK = """
Promise.allSettled([{urls}].flatMap(url => [
  fetch(url, {{mode: "no-cors", cache: "no-store", signal: AbortSignal.timeout(5000)}}),
  new Promise(resolve => {{
    const frame = document.createElement("iframe");
    frame.onload = resolve;
    setTimeout(resolve, 5000);
    frame.src = url;
    document.body.append(frame);
  }}),
])).then(() => 0)
"""
"""Asks for URLs both as the page's own and as frames: the whole Chromium remembers Alt-Svc for a
page and for its frames from other sites apart."""
_NOBODY = "nobody.invalid:443"
_SOCKET = "org.chromium.Chromium.123456/SingletonSocket"
"""A socket that the whole browser makes in its folder for temporary files."""
_LONGEST_SOCKET = 107
"""The longest path in bytes that Linux allows for a socket."""
_NEVER = 2
"""Chromium's number for a prediction that is never made."""
_NET_LOG = "net-log.json"
_KEY_LOG = "keys.log"


def stack_flags(
    stack: Stack,
    addresses: Mapping[str, str],
    spoken: Mapping[str, str] = MappingProxyType({}),
    ask: Transport = "none",
) -> tuple[str, ...]:
    """Command line flags for a stack's properties other than its protocol. `spoken` maps each host
    to the protocol in the page's recording; `ask` says how the browser asks for names."""
    flags: list[str] = []
    if stack.discovery == "as-recorded":
        over_quic = [host for host in addresses if "h3" in stack.protocols(host, spoken)]
        forced = ",".join(f"{host}:443" for host in over_quic)
        flags.append(f"--origin-to-force-quic-on={forced or _NOBODY}")
    if MIXES[stack.discovery]:
        # Chromium refuses QUIC to a host with a private CA unless this flag names the host. With a
        # port that no server uses, the flag does not force QUIC.
        named = ",".join(f"{host}:1" for host in addresses)
        flags.append(f"--origin-to-force-quic-on={named}")
    if stack.early_data and stack.transport == "tcp":
        flags.append("--enable-features=EnableTLS13EarlyData")
    if told := _timeouts(stack):
        flags.append(f"--enable-features=_<QUIC.Enabled:{told}")
    # Old versions accept no `*`. It would also send the questions of names to a resolver over QUIC.
    by_name = stack.protocol == "gquic" or (ask == "doh" and stack.discovery == "direct")
    if by_name and stack.transport == "quic":
        forced = ",".join(f"{host}:443" for host in addresses)
        flags.append(f"--origin-to-force-quic-on={forced}")
    port = port_of(stack.serving)
    if port == PORT:
        places = {h: bracketed(ip) for h, ip in addresses_of(stack.serving, addresses).items()}
    else:
        places = places_of(stack.serving, addresses)
    if ask != "none":
        flags.append(_asking_rules(addresses, port))
    elif places:  # live pages use the internet's names
        flags.append(_resolver_rules(places))  # a port in a rule would hold for http:// as well
    return tuple(flags)


def _timeouts(stack: Stack) -> str:
    """Parameters of Chromium's field trial QUIC that set its timeouts
    (net/http/network_session_configurator); empty if the stack keeps the browser's own. Headless
    Chromium has no flag for field trials and takes them with a feature's name, even one that does
    not exist. On an idle connection a client's timer ends one second before the timeout that it
    announced, so a handshake's idle timeout is given one second more than the whole
    handshake's."""
    asked = {}
    if stack.handshake_timeout_s:
        asked["max_time_before_crypto_handshake_seconds"] = stack.handshake_timeout_s
        asked["max_idle_time_before_crypto_handshake_seconds"] = stack.handshake_timeout_s + 1
    if stack.idle_timeout_s:
        asked["idle_connection_timeout_seconds"] = stack.idle_timeout_s
    return "/".join(f"{name}/{seconds}" for name, seconds in asked.items())


def _resolver_rules(places: Mapping[str, str]) -> str:
    """Return a flag value that resolves only these hosts, each to an address as in URLs, or to
    address and port."""
    rules = ", ".join(f"MAP {host} {at}" for host, at in places.items())
    return f"--host-resolver-rules={rules}, MAP * ~NOTFOUND"


def _asking_rules(hosts: Iterable[str], port: int) -> str:
    """A flag value that asks the resolver for these hosts only, and connects to them at this port.
    The whole browser looks up some of its maker's names too."""
    hosts = tuple(hosts)
    rules = [f"MAP {host} {host}:{port}" for host in hosts if port != PORT]
    asked_for = (*hosts, RESOLVER_IP) if port == PORT else (RESOLVER_IP,)
    rules += ["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in asked_for)]
    return f"--host-resolver-rules={', '.join(rules)}"


@dataclass(frozen=True)
class Chromium:
    """A running browser, which `chromium` starts."""

    cdp: Cdp
    session: int
    """Session id (setsid(2)) of all the browser's processes."""
    key_log: Path | None = None
    """File with the TLS secrets of all the browser's visits; None unless packets are captured."""
    generation: Generation = GENERATIONS[TODAY]

    @property
    def itself(self) -> str:
        """The browser's product, version and start mode, as it reports them."""
        product: str = self.cdp.call("Browser.getVersion")["product"]
        headless = "" if product.startswith("Headless") else ", headless"
        return f"{product}{headless}, a fresh context for each visit"

    def cpu_s(self) -> dict[int, float]:
        """CPU seconds of each of the browser's processes, by process id."""
        return session_cpu_s(self.session)

    def proxies(self) -> tuple[str, ...]:
        """Return environment variables of the browser's processes that name a proxy."""
        return session_proxies(self.session)

    @contextlib.contextmanager
    def fresh_tab(self, client: Client, page: Page | None = None) -> Iterator["ChromiumTab"]:
        recorded_ms = page.recorded_ms if page else None
        with fresh_session(
            self.cdp,
            client,
            recorded_ms,
            done_of(page),
            workers=self.generation.follows_workers,
        ) as session:
            yield ChromiumTab(self.cdp, session, client, self.generation, page)


@dataclass(frozen=True)
class ChromiumTab:
    """A tab in its own context, which `Chromium.fresh_tab` opens."""

    cdp: Cdp
    session: str
    client: Client
    generation: Generation
    page: Page | None = None

    def screenshot(self) -> bytes:
        """Return the viewport as it looks now, PNG."""
        answer = self.cdp.call("Page.captureScreenshot", self.session, format="png")
        return base64.b64decode(answer["data"])

    def load(self, url: str) -> Load:
        return load(self.cdp, self.session, url, self.client, done_of(self.page, url))

    def slowdown(self) -> float | None:
        return measured(self.cdp, self.session) if self.client.cpu_slowdown > 1 else None

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        method, params = self.generation.forget_cache
        self.cdp.call(method, self.session, **params)
        hosts = tuple(announced)
        if method != CLEARS or not hosts:
            return
        asked = ", ".join(f"'https://{host}{_NOT_RECORDED}'" for host in hosts)
        for origin in dict.fromkeys(urljoin(page, "/") for page in pages):
            self.load(f"{origin.rstrip('/')}{_NOT_RECORDED}")
            self.cdp.call(
                "Runtime.evaluate",
                self.session,
                expression=_ASK.format(urls=asked),
                awaitPromise=True,
            )
        self.load("about:blank")  # takes the events of these requests

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        return with_digests(self.cdp, self.session, exchanges, seed)


def chromium_version(browser: str = TODAY) -> str:
    """Return the browser's product and version, such as ``Chromium 156.0.8078.79``. Raises
    `TestbedError`.

    The version of an older browser comes from the catalogue, because some do not report one. Its
    files were verified by hash.
    """
    program = generation_of(browser).program()
    if browser in catalogue():
        return " ".join(catalogue()[browser].what.split()[:2])
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    said = done.stdout.partition("built on")[0].strip()
    if not is_path(browser):
        return said
    if done.returncode or "Chrom" not in said:
        raise TestbedError(f"browser {browser}: --version does not name a Chromium: {said!r}")
    with program.open("rb") as data:  # self-made builds often share a version
        return f"{said}, build {hashlib.file_digest(data, 'sha256').hexdigest()[:12]}"


def here(workspace: Path, ca: Path | None = None) -> BrowserPlace:
    """Return a place in the caller's own network. Its sites may be hostile, so the browser's
    sandbox stays on."""
    return BrowserPlace(
        command=lambda *argv: list(argv), workspace=workspace, drop_root=os.geteuid() == 0, ca=ca
    )


@contextlib.contextmanager
def chromium(
    bed: Testbed,
    protocol: Protocol,
    client: Client,
    extra_flags: tuple[str, ...] = (),
    net_log: Path | None = None,
    *,
    browser: str = TODAY,
    ask: Transport = "none",
    every_root: bool = False,
) -> Iterator[Chromium]:
    """Run a browser that can only speak `protocol` and only reach the testbed's hosts.

    The browser trusts the origin's throw-away CA through its own certificate store, with
    verification on. `extra_flags` come last, so they override other flags. Chromium's NetLog is
    written to `net_log` when the browser ends; its `timeTickOffset` (ms) turns its times into Unix
    time. `ask` and `every_root` are those of `BrowserSettings`. Raises `TestbedError` and
    `BrowserError`.
    """
    with chromium_at(
        inside(bed),
        protocol,
        client,
        extra_flags,
        net_log,
        browser=browser,
        ask=ask,
        every_root=every_root,
    ) as started:
        yield started


def _ask_by_https(home: Path) -> None:
    """Make the browser of this home ask the resolver by HTTPS, and no other way."""
    state = {"dns_over_https": {"mode": "secure", "templates": f"https://{RESOLVER_IP}/dns-query"}}
    _write_settings(home, "Local State", state)


def _predict_nothing(home: Path) -> None:
    """Make the whole browser connect to a page's host when it navigates there, as headless-shell
    does. By default it connects up to 15 ms before timeOrigin, and so before the visit begins. Its
    setting also turns off what speculation rules prefetch; headless-shell prefetches that."""
    _write_settings(home, "Default/Preferences", {"net": {"network_prediction_options": _NEVER}})


def _write_settings(home: Path, name: str, settings: Mapping[str, Any]) -> None:
    file = home / "profile" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))
    for path in (home / "profile", file.parent, file):
        shutil.chown(path, home.stat().st_uid, home.stat().st_gid)


def inside(bed: Testbed) -> BrowserPlace:
    """Return a place at the client's end of a testbed. The place lacks the caller's proxy
    variables, because headless-shell obeys them even with --no-proxy-server."""
    if bed.names:
        # Real sites may be hostile, so the sandbox stays on.
        arrange = ["unshare", "--mount", "sh", "-c", _WITH_NAMES, "sh", str(bed.names)]
        flags: tuple[str, ...] = ()
    else:
        # The process is unprivileged and has no route out (decision 0001).
        arrange = []
        known = {host: bracketed(ip) for host, ip in bed.addresses.items()}
        flags = ("--no-sandbox", _resolver_rules(known))
    return BrowserPlace(
        command=lambda *argv: [
            "env",
            *NO_PROXIES,
            *bed.spaces.command("client", *arrange, *argv),
        ],
        workspace=bed.workspace,
        drop_root=not bed.spaces.rootless,
        ca=bed.origin.ca,
        every_root=bed.origin.every_root,
        flags=flags,
    )


@contextlib.contextmanager
def chromium_at(
    place: BrowserPlace,
    protocol: Protocol,
    client: Client,
    extra_flags: tuple[str, ...] = (),
    net_log: Path | None = None,
    *,
    browser: str = TODAY,
    ask: Transport = "none",
    every_root: bool = False,
) -> Iterator[Chromium]:
    """Run a browser in `place` that can only speak `protocol`. Raises as `chromium` does."""
    generation = generation_of(browser)
    program = generation.program()
    home = fresh_home(place, protocol, every_root=every_root)
    if generation.whole and len(os.fsencode(home / _SOCKET)) > _LONGEST_SOCKET:
        raise TestbedError(
            f"browser {browser} cannot make its socket in {home}: the path is too long. Set "
            "TMPDIR to a folder with a shorter path, such as /tmp"
        )
    if ask == "doh":
        _ask_by_https(home)
    if generation.whole:
        _predict_nothing(home)
    width, height = client.viewport
    flags = [
        *generation.protocols[protocol],
        *_QUIET_FLAGS,
        f"--window-size={width},{height}",
        f"--force-device-scale-factor={client.device_scale:g}",
        f"--user-data-dir={home}/profile",
        "--remote-debugging-pipe",
        *([f"--log-net-log={home / _NET_LOG}"] if net_log else []),
        *([f"--ssl-key-log-file={home / _KEY_LOG}"] if client.pcap else []),
        *place.flags,
        *extra_flags,
    ]
    to_browser, from_browser = os.pipe(), os.pipe()
    wire = f'exec "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
    show: list[str] = []
    if browser not in (TODAY, CHROMIUM):
        show = ["sh", "-c", _WITH_PROGRAM, "sh", str(program.parent)]
        program = _SHOWN / program.name
    launch = [
        *(with_resolver(home) if ask != "none" else ()),
        *show,
        *(AS_NOBODY if place.drop_root else ()),
        *living_in(home),
        "bash",
        "-c",
        wire,
        "bash",
    ]
    with (home / "chromium.err").open("wb") as errors:
        process = subprocess.Popen(
            place.command(*launch, str(program), *flags),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            pass_fds=(to_browser[0], from_browser[1]),
            start_new_session=True,
        )
    os.close(to_browser[0])
    os.close(from_browser[1])
    cdp = Cdp(from_browser[0], to_browser[1])
    try:
        if generation.follows_workers:
            follow_shared(cdp)
        yield Chromium(
            cdp=cdp,
            session=process.pid,
            generation=generation,
            key_log=home / _KEY_LOG if client.pcap else None,
        )
    finally:
        with contextlib.suppress(BrowserError):
            cdp.send("Browser.close")  # today's Chromium also ends with its pipe, older ones do not
        os.close(to_browser[1])
        os.close(from_browser[0])
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if net_log and (home / _NET_LOG).exists():
            net_log.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(home / _NET_LOG, net_log)
