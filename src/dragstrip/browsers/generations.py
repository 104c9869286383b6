"""The Chromiums that can be driven, and what differs between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragstrip.model.browsers import TODAY, Browser
from dragstrip.model.stack import Protocol
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed

# The wrappers in /usr/bin inject flags of their own, so the program itself is run.
_BINARIES = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium-browser/headless_shell",
)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """A browser as far as driving it differs from driving another."""

    program: Callable[[], Path]
    """Finds it, or raises `TestbedError` with the mend."""
    protocols: Mapping[Protocol, tuple[str, ...]]
    """The flags that let it speak one protocol and no other."""
    forget_cache: tuple[str, Mapping[str, Any]] = ("Network.clearBrowserCache", {})
    """The DevTools command that makes the next load fetch everything, and keeps tickets."""


def find_chromium() -> Path:
    """Path of headless-shell. Raises `TestbedError` with the mend."""
    for binary in _BINARIES:
        if Path(binary).is_file():
            return Path(binary)
    raise TestbedError(
        "chromium-headless-shell is missing: apt-get install chromium-headless-shell"
    )


_TCP: Mapping[Protocol, tuple[str, ...]] = {
    "h1": ("--disable-quic", "--disable-http2"),
    "h2": ("--disable-quic",),
}
# Without the network service as a process of its own, Chromium 70 ignores QUIC's flags and speaks
# h2. Stacks of one browser are compared, so all of them have it. Which hosts are forced to QUIC
# stands in `chromium.stack_flags`: these versions do not take a `*`.
_OLD: Mapping[Protocol, tuple[str, ...]] = {
    protocol: ("--enable-features=NetworkService", *flags)
    for protocol, flags in (
        *_TCP.items(),
        ("gquic", ("--enable-quic", "--quic-version=QUIC_VERSION_43")),
    )
}
# Clearing the cache would forget the servers' QUIC configurations too, and with them 0-RTT.
_BYPASS = ("Network.setCacheDisabled", {"cacheDisabled": True})

GENERATIONS: Mapping[Browser, Generation] = {
    TODAY: Generation(
        program=find_chromium,
        protocols={**_TCP, "h3": ("--enable-quic", "--origin-to-force-quic-on=*")},
    ),
    # Which protocol it speaks is the server's choice; `chromium53` drives it.
    "chromium53": Generation(
        program=lambda: installed("chromium53"), protocols={"h1": (), "h2": (), "spdy": ()}
    ),
    "chromium70": Generation(
        program=lambda: installed("chromium70"),
        protocols=_OLD,
        forget_cache=_BYPASS,
    ),
    "chromium78": Generation(
        program=lambda: installed("chromium78"), protocols=_OLD, forget_cache=_BYPASS
    ),
}
