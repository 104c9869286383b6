"""Describes how each Chromium version is driven."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragstrip.model.browsers import CHROMIUM, TODAY, is_path
from dragstrip.model.stack import Protocol
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed

# The wrappers in /usr/bin add flags, so these are the programs themselves.
_BINARIES = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium-browser/headless_shell",
)

_WHOLE = (Path("/usr/lib/chromium/chromium"), Path("/usr/lib/chromium-browser/chromium-browser"))

CLEARS = "Network.clearBrowserCache"
"""Name of the DevTools command that clears the cache, and Alt-Svc too (seen in Chromium 156's
NetLog). Bypassing the cache would keep Alt-Svc, and make every request longer (`cache-control:
no-cache`)."""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Settings for driving one generation of Chromium."""

    program: Callable[[], Path]
    """Returns the path of the browser's program. Raises `TestbedError`, which says how to install
    it."""
    protocols: Mapping[Protocol, tuple[str, ...]]
    """The flags that restrict the browser to one protocol, for each protocol."""
    whole: bool = False
    """Whether it is a whole browser, and not headless-shell."""
    follows_workers: bool = True
    """Whether the browser can report the requests of workers."""
    forget_cache: tuple[str, Mapping[str, Any]] = (CLEARS, {})
    """The DevTools command that makes the next load fetch everything, and keeps TLS tickets."""


def find_chromium() -> Path:
    """Return the path of headless-shell. Raises `TestbedError`, which says how to install it."""
    for binary in _BINARIES:
        if Path(binary).is_file():
            return Path(binary)
    raise TestbedError(
        "chromium-headless-shell is missing: run `dragstrip setup`, or race with --browser PATH"
    )


def _whole_chromium() -> Path:
    for program in _WHOLE:
        if program.is_file():
            return program
    raise TestbedError("chromium is missing: run `dragstrip setup chromium`")


_TCP: Mapping[Protocol, tuple[str, ...]] = {
    "h1": ("--disable-quic", "--disable-http2"),
    "h2": ("--disable-quic",),
}
# Without a separate process for the network service, Chromium 70 ignores QUIC's flags and speaks
# h2. Stacks of one browser are compared, so all of its stacks have the process.
# `chromium.stack_flags` names the hosts that are forced to QUIC, because these versions do not
# accept a `*`.
_OLD: Mapping[Protocol, tuple[str, ...]] = {
    protocol: ("--enable-features=NetworkService", *flags)
    for protocol, flags in (
        *_TCP.items(),
        ("gquic", ("--enable-quic", "--quic-version=QUIC_VERSION_43")),
    )
}
# Clearing the cache would also clear the servers' QUIC configurations, and so prevent 0-RTT.
_BYPASS = ("Network.setCacheDisabled", {"cacheDisabled": True})

_TODAY: Mapping[Protocol, tuple[str, ...]] = {
    **_TCP,
    "h3": ("--enable-quic", "--origin-to-force-quic-on=*"),
}
_HEADLESS = {protocol: ("--headless", *flags) for protocol, flags in _TODAY.items()}

GENERATIONS: Mapping[str, Generation] = {
    TODAY: Generation(program=find_chromium, protocols=_TODAY),
    CHROMIUM: Generation(program=_whole_chromium, protocols=_HEADLESS, whole=True),
    # The server chooses the protocol. `chromium53` drives this browser.
    "chromium53": Generation(
        program=lambda: installed("chromium53"), protocols={"h1": (), "h2": (), "spdy": ()}
    ),
    "chromium70": Generation(
        program=lambda: installed("chromium70"),
        protocols=_OLD,
        follows_workers=False,
        forget_cache=_BYPASS,
    ),
    "chromium78": Generation(
        program=lambda: installed("chromium78"),
        protocols=_OLD,
        follows_workers=False,
        forget_cache=_BYPASS,
    ),
}


def generation_of(browser: str) -> Generation:
    """Return the generation of a browser, given its name or the path of the user's own Chromium.
    The user's own Chromium is driven like today's."""
    if not is_path(browser):
        return GENERATIONS[browser]
    whole = "headless" not in Path(browser).name
    return Generation(program=lambda: _program(browser), protocols=_HEADLESS, whole=whole)


def _program(path: str) -> Path:
    program = Path(path)
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise TestbedError(f"browser {path}: no such program; --browser takes a Chromium's path")
    return program
