"""Gets the kernel's sources from Debian or from a file, and unpacks them.

apt-get fetches them from the mirror that this machine uses, with its own lists and state in a
scratch folder. Nothing on the system changes, no privilege is needed, and apt checks Debian's
signature.
"""

import shutil
import subprocess
import tarfile
from pathlib import Path

from dragstrip.execution.guest.kernel.recipe import PACKAGE, SUITE
from dragstrip.model.errors import InputError
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.fetch import Progress, run

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def sources(work: Path, given: Path | None, progress: Progress) -> Path:
    """Unpack the sources into the empty folder `work` and return their top folder.

    `given` is an archive of a Linux release; None fetches Debian's package. Raises `TestbedError`
    if the sources cannot be fetched, `InputError` if `given` holds no kernel sources.
    """
    archive = given or _fetched(work, progress)
    if not archive.is_file():
        raise InputError(f"there is no file {archive}")
    tree = work / "tree"
    tree.mkdir()
    if archive.suffix == ".deb":
        package = work / "package"
        _run(["dpkg-deb", "-x", str(archive), str(package)], work, progress)
        (archive,) = package.glob("usr/src/linux-source-*.tar.*")
    elif not tarfile.is_tarfile(archive):
        raise InputError(f"{archive} is neither a Debian package nor a tar archive")
    _run(["tar", "-xf", str(archive), "-C", str(tree)], work, progress)
    tops = [path.parent for path in tree.glob("*/Makefile")]
    if len(tops) != 1 or not (tops[0] / "arch/um").is_dir():
        raise InputError(f"{archive} holds no Linux kernel")
    return tops[0]


def version(tree: Path) -> str:
    """Return the version of the sources, such as ``7.2.13``."""
    fields = {}
    for line in (tree / "Makefile").read_text().splitlines()[:8]:
        name, _, value = line.partition("=")
        fields[name.strip()] = value.strip()
    return ".".join(fields[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _fetched(work: Path, progress: Progress) -> Path:
    if not _KEYRING.is_file():
        raise TestbedError(
            f"{_KEYRING} is missing, so this seems not to be Debian: get the sources of Linux and "
            "name them with --source"
        )
    apt = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (apt / folder).mkdir(parents=True)
    line = f"deb [signed-by={_KEYRING}] {_mirror()} {SUITE} main\n"
    (apt / "sources.list").write_text(line)
    (apt / "status").touch()
    settings = {
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": apt / "parts",
        "APT::Get::List-Cleanup": "0",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    }
    arguments = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    for command in (["update"], ["download", PACKAGE]):
        _run(["apt-get", *arguments, "--quiet", *command], apt, progress)
    packages = list(apt.glob(f"{PACKAGE}_*.deb"))
    if len(packages) != 1:
        raise TestbedError(f"apt-get left {len(packages)} packages {PACKAGE}, not one")
    return packages[0]


def _mirror() -> str:
    """Return the address of the Debian mirror in this machine's apt sources."""
    if not shutil.which("apt-get"):
        raise TestbedError("apt-get is missing: get the sources of Linux, name them with --source")
    asked = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]
    lines = subprocess.run(asked, capture_output=True, text=True).stdout.splitlines()
    known = [line.partition(" ")[2] for line in lines if line.startswith("Debian ")]
    if not known:
        raise TestbedError(
            "apt knows no Debian mirror (run apt-get update first): get the sources of Linux and "
            "name them with --source"
        )
    return min(known, key=lambda uri: ("security" in uri, len(uri)))


def _run(command: list[str], folder: Path, progress: Progress) -> None:
    run(command, cwd=folder, environment={"LC_ALL": "C"}, watch=folder, progress=progress)
