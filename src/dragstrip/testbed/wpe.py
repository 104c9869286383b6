"""Installs WPE WebKit from Debian unstable into the cache folder, as a system's root folder."""

import shutil
from pathlib import Path

import msgspec

from dragstrip.testbed.cache import cache_folder, unfinished
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import LIST, UnpackedPackage, loader, output_of
from dragstrip.testbed.servers.sources.debian import unpack
from dragstrip.testbed.servers.sources.source import Teller

_PACKAGES = ("libwpewebkit-2.0-1", "cog", "libgles2")
_MERGED = ("bin", "lib", "lib64", "sbin")
"""Links to folders in usr, which the package base-files makes elsewhere."""
_MOUNTED = ("dev", "proc", "run", "tmp", "root")
_BOUND = ("hosts", "nsswitch.conf", "ssl/certs/ca-certificates.crt")
"""Files in etc that every browser mounts its own over."""
_MISSING = "WPE WebKit is not installed: run `dragstrip setup wpe`"


def home() -> Path:
    return cache_folder("browsers") / "wpe"


def packages() -> tuple[UnpackedPackage, ...]:
    """Return the packages of the installed WebKit, its own first; none if it is not installed."""
    file = home() / LIST
    if not file.exists():
        return ()
    return msgspec.json.decode(file.read_bytes(), type=tuple[UnpackedPackage, ...])


def installed() -> Path:
    """Return WebKit's root folder. Raises `TestbedError`, which says how to install WebKit."""
    if not packages():
        raise TestbedError(_MISSING)
    return home()


def version() -> str:
    """Return name, version and archive, such as ``WPE WebKit 2.54.2-1 (Debian sid, 2026-11-20)``.
    Raises `TestbedError`."""
    found = packages()
    if not found:
        raise TestbedError(_MISSING)
    return f"WPE WebKit {found[0].version} ({found[0].archive})"


def install(tell: Teller) -> tuple[UnpackedPackage, ...]:
    """Fetch, verify and unpack WebKit with everything it needs. An older copy is replaced. If this
    fails, nothing changes. Raises `TestbedError`."""
    for program, package in (("apt-get", "apt"), ("dpkg-deb", "dpkg")):
        if not shutil.which(program):
            raise TestbedError(f"{program} is missing: apt-get install {package}")
    with unfinished(cache_folder("browsers")) as scratch:
        made = scratch / "home"
        made.mkdir()
        found = tuple(unpack(_PACKAGES, scratch, made, tell))
        _configure(made)
        (made / LIST).write_bytes(msgspec.json.encode(found))
        if home().exists():
            shutil.rmtree(home())
        made.rename(home())
    return found


def _configure(root: Path) -> None:
    """Do what the packages' scripts would do: link folders, and index settings and modules."""
    for name in _MERGED:
        if not (root / name).exists() and (root / "usr" / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    for name in _MOUNTED:
        (root / name).mkdir(exist_ok=True)
    for name in _BOUND:
        file = root / "etc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (root / "etc" / "passwd").write_text("nobody:x:65534:65534:nobody:/tmp:/usr/sbin/nologin\n")
    start = loader(root)
    (libraries,) = root.glob("usr/lib/*/glib-2.0")
    schemas = root / "usr" / "share" / "glib-2.0" / "schemas"
    output_of(*start, str(libraries / "glib-compile-schemas"), str(schemas))
    output_of(*start, str(libraries / "gio-querymodules"), str(libraries.parent / "gio/modules"))
