"""Keeps proxies out of a browser's environment, and checks running browsers for them."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

_NAMES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "socks_proxy", "auto_proxy")
NO_PROXIES = tuple(
    part for name in (*_NAMES, "no_proxy") for part in ("-u", name, "-u", name.upper())
)
"""Options of env(1) that unset all proxy variables."""


def named_proxies(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that are set and name a proxy."""
    return tuple(sorted(n for n, value in environment.items() if value and n.lower() in _NAMES))


def session_proxies(session: int) -> tuple[str, ...]:
    """Return the proxy variables in the environments of all processes of a session (setsid(2)).
    Processes that this user may not read are left out."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(process.name)) == session:
                found.update(named_proxies(_environment(process)))
    return tuple(sorted(found))


def _environment(process: Path) -> dict[str, str]:
    text = (process / "environ").read_bytes().decode(errors="replace")
    pairs = (entry.partition("=") for entry in text.split("\0") if entry)
    return {name: value for name, _, value in pairs}
