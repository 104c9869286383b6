"""The packages of Debian and Ubuntu that dragstrip uses, and how to install them."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from dragstrip.testbed.errors import TestbedError

HEADLESS = "chromium-headless-shell"


class SystemPackage(Struct, frozen=True, kw_only=True):
    name: str
    brings: str
    """A program or file that the package installs. If that exists, the package is not needed."""
    use: str
    needed: bool = True
    """Whether races need the package."""

    @property
    def present(self) -> bool:
        return bool(shutil.which(self.brings)) or Path(self.brings).is_file()


BASE = (
    SystemPackage(name=HEADLESS, brings=f"/usr/lib/chromium/{HEADLESS}", use="the browser"),
    SystemPackage(name="libnss3-tools", brings="certutil", use="the testbed's own authority"),
    SystemPackage(name="iproute2", brings="ip", use="namespaces and addresses"),
    SystemPackage(name="util-linux", brings="unshare", use="namespaces"),
    SystemPackage(name="ethtool", brings="ethtool", use="offloads of the virtual interfaces"),
    SystemPackage(name="procps", brings="sysctl", use="settings of the namespaces"),
    SystemPackage(name="iperf3", brings="iperf3", use="background load", needed=False),
    SystemPackage(
        name="passt",
        brings="pasta",
        use="`dragstrip link` and live pages as an ordinary user",
        needed=False,
    ),
    SystemPackage(
        name="nftables",
        brings="nft",
        use="`dragstrip link` and live pages to other machines, as root",
        needed=False,
    ),
    SystemPackage(name="caddy", brings="caddy", use="the stacks caddy-*", needed=False),
)
CHROMIUM_PACKAGES = (
    SystemPackage(
        name="chromium",
        brings="/usr/lib/chromium/chromium",
        use="HTTPS records and DNS over HTTPS in Chromium",
    ),
)
FIREFOX_PACKAGES = (
    SystemPackage(name="firefox-esr", brings="firefox-esr", use="the stacks *-firefox"),
)


def missing(packages: Iterable[SystemPackage]) -> list[SystemPackage]:
    return [p for p in packages if not p.present]


def as_root(argv: Sequence[str]) -> list[str]:
    """Return the command, prefixed with sudo unless the caller is root. Raises `TestbedError` if
    sudo is missing."""
    if os.geteuid() == 0:
        return [*argv]
    if shutil.which("sudo"):
        return ["sudo", *argv]
    raise TestbedError(f"installing packages needs root: run `{' '.join(argv)}` as root")


def install_command(packages: Sequence[SystemPackage]) -> list[str]:
    """Return the apt-get command that installs these packages. Raises `TestbedError` without
    apt-get."""
    names = [p.name for p in packages]
    if not shutil.which("apt-get"):
        raise TestbedError(
            f"there is no apt-get here: install your system's packages for {', '.join(names)}"
        )
    return as_root(["apt-get", "install", "-y", "--no-install-recommends", *names])


def update() -> None:
    """Download apt's package lists, without which apt knows no packages. Raises `TestbedError`."""
    _run(as_root(["apt-get", "update", "-qq"]))


def install(packages: Sequence[SystemPackage]) -> None:
    """Install packages with apt, and show apt's output. Raises `TestbedError`."""
    _run(install_command(packages))


def offered(package: SystemPackage) -> bool:
    """Return whether apt can install the package on this machine."""
    argv = ["apt-cache", "policy", package.name]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return "Candidate: " in done.stdout and "Candidate: (none)" not in done.stdout


def _run(argv: Sequence[str]) -> None:
    code = subprocess.run(argv, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).returncode
    if code:
        raise TestbedError(f"`{' '.join(argv)}` failed with exit code {code}; see above")
