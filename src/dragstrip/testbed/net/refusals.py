"""Explains why a machine refuses namespaces, and what to do about it.

The reasons are found by reading /proc, without trying to create a namespace.
"""

import os
from pathlib import Path

_SYS_ADMIN = 21
"""CAP_SYS_ADMIN, capabilities(7): without it root may not create namespaces."""
_VIRTUAL = "or race in virtual time (--virtual), which needs no privilege"


def refusal(root: Path = Path("/"), *, uid: int | None = None) -> str:
    """Return the first known reason why namespaces cannot be created on this machine, with its
    cure; empty if there is none.

    `root` is the folder that has `proc`; `uid` is by default the caller's.
    """
    user = os.geteuid() if uid is None else uid
    if _told(root, "proc/version").lower().count("microsoft") and not _is_wsl2(root):
        return "WSL 1 has no namespaces: run `wsl --set-version DISTRIBUTION 2` in Windows"
    if user == 0:
        return _as_root(root)
    return _as_user(root)


def wsl(root: Path = Path("/")) -> str:
    """Return `WSL 1`, `WSL 2`, or an empty string on ordinary Linux."""
    if "microsoft" not in _told(root, "proc/version").lower():
        return ""
    return "WSL 2" if _is_wsl2(root) else "WSL 1"


def container(root: Path = Path("/")) -> str:
    """Return the kind of container, such as `docker`; empty outside of containers."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    for setting in _told(root, "proc/1/environ").split("\0"):
        if setting.startswith("container="):
            return setting.partition("=")[2]
    return ""


def _as_root(root: Path) -> str:
    status = _status(root)
    if int(status.get("CapEff", "0"), 16) >> _SYS_ADMIN & 1:
        return ""
    inside = f"this {kind} container" if (kind := container(root)) else "this container"
    return (
        f"root of {inside} lacks CAP_SYS_ADMIN: start it with `--cap-add SYS_ADMIN --cap-add "
        f"NET_ADMIN`, run as an ordinary user with the seccomp profile of docs/howto/container.md, "
        f"{_VIRTUAL}"
    )


def _as_user(root: Path) -> str:
    if _told(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor refuses user namespaces to ordinary users, as Ubuntu does since 24.04: run "
            "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` (to keep it, put the "
            f"setting into /etc/sysctl.d/60-dragstrip.conf), race as root, {_VIRTUAL}"
        )
    if _told(root, "proc/sys/kernel/unprivileged_userns_clone") == "0":
        return (
            "ordinary users may not create user namespaces here: run `sudo sysctl "
            f"kernel.unprivileged_userns_clone=1`, race as root, {_VIRTUAL}"
        )
    if _told(root, "proc/sys/user/max_user_namespaces") == "0":
        return (
            "no user namespace is allowed here: run `sudo sysctl user.max_user_namespaces=10000`, "
            f"race as root, {_VIRTUAL}"
        )
    if _chrooted(root):
        return (
            "the kernel refuses user namespaces inside a chroot: enter the folder by pivot_root, "
            f"as containers do, race as root, {_VIRTUAL}"
        )
    if _masked(root):
        return (
            "parts of /proc are masked here, as containers do, so no user namespace may mount its "
            "own: start the container with `--security-opt unmask=ALL` (podman) or `--security-opt "
            f"systempaths=unconfined` (docker), {_VIRTUAL}"
        )
    if container(root) and _status(root).get("Seccomp") == "2":
        return _FILTERED
    return ""


_FILTERED = (
    "this container's seccomp filter may refuse user namespaces: start it with `--security-opt "
    f"seccomp=seccomp.json` (docs/howto/container.md), {_VIRTUAL}"
)


def _is_wsl2(root: Path) -> bool:
    return "wsl2" in _told(root, "proc/version").lower()


def _chrooted(root: Path) -> bool:
    """Return whether the process was chrooted: then its root is not a mount point."""
    mounts = _told(root, "proc/self/mountinfo").splitlines()
    return bool(mounts) and not any(line.split()[4] == "/" for line in mounts)


def _masked(root: Path) -> bool:
    """Return whether a mount hides files of /proc, as only container engines do."""
    places = {line.split()[4] for line in _told(root, "proc/self/mountinfo").splitlines()}
    return bool(places & {"/proc/acpi", "/proc/kcore", "/proc/keys"})


def _status(root: Path) -> dict[str, str]:
    lines = _told(root, "proc/self/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _told(root: Path, path: str) -> str:
    """Return the file's text; empty if the file is missing."""
    try:
        return (root / path).read_text(errors="replace").strip()
    except OSError:
        return ""
