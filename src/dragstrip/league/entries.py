"""The servers that take part in a league: every installed one that speaks the family, our origin,
and the user's servers. A server that does not work on this machine is left out, with the reason."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.errors import DragstripError, InputError
from dragstrip.model.servers import OURS, Server, known
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.pages.resolve import resolve
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.servers import stack_on
from dragstrip.testbed.servers.packages import UnpackedPackage, unpacked, version_of

FOLDER = "admission"
_PAGE, _NETWORK = "synth:4x10KB", "100mbit/20ms"


class Entry(Struct, frozen=True, kw_only=True):
    """A server that takes part, with the stack under which it is compared."""

    stack: Stack
    version: str
    packages: tuple[UnpackedPackage, ...] = ()

    @property
    def name(self) -> str:
        return self.stack.name

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What the verdict cannot check of this server's loads."""
        return tuple(self.stack.untold.values())


class Absent(Struct, frozen=True, kw_only=True):
    """A server that does not take part."""

    server: str
    why: str


def entries(family: str, more: Sequence[Stack] = ()) -> tuple[list[Entry], list[Absent]]:
    """Return the entries of a family such as ``h3``, our origin first, and the servers that are not
    installed. `more` are stacks that the user adds."""
    there, absent = [_entry(find_stack(family))], []
    for server in known().values():
        if server.driver != "program" or family not in server.protocols:
            continue
        if why := _missing(server):
            absent.append(Absent(server=server.name, why=why))
        else:
            there.append(_entry(stack_on(server, family)))
    names = {entry.name for entry in there}
    there += [_entry(stack) for stack in more if stack.name not in names]
    return there, absent


def admitted(
    asked: Sequence[Entry], options: RunOptions, cache: Path
) -> tuple[list[Entry], list[Absent]]:
    """Return the entries that serve a small page on this machine, and the others with the reason.
    Each entry gets one visit in a capsule. When the league resumes, that capsule is read
    instead."""
    assert options.out
    there, absent = [], []
    for entry in asked:
        why = _admit(entry, options.out / FOLDER / entry.name, options, cache)
        if why:
            absent.append(Absent(server=entry.name, why=why))
        else:
            there.append(entry)
    return there, absent


def _admit(entry: Entry, folder: Path, options: RunOptions, cache: Path) -> str:
    """Return why a server cannot take part; empty if it can."""
    file = folder / "failed.json"
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=str)
    study = Study(
        name="admission",
        pages=(resolve(_PAGE, cache),),
        networks=(find_network(_NETWORK),),
        stacks=(entry.stack,),
        runs=1,
        seed=1,
        client=Client(timeout_s=30),
    )
    try:
        make_visits(options.adapt(study), folder, structs.replace(options, out=folder, jobs=1))
        last = list(Capsule.open(folder).visits())[-1]
    except InputError:
        raise
    except DragstripError as error:
        why = str(error)
    else:
        why = "; ".join(r.detail for r in last.reasons) or (
            "" if last.outcome == "loaded" else last.error or last.outcome
        )
    if why and (folder / MANIFEST).exists():
        file.write_bytes(msgspec.json.encode(why))
    return why


def _entry(stack: Stack) -> Entry:
    return Entry(
        stack=stack,
        version=version_of(stack.serving) or "this dragstrip",
        packages=unpacked(stack.serving) if stack.server != OURS and stack.serving.package else (),
    )


def _missing(server: Server) -> str:
    """Return how to get a server that is not installed; empty if it is."""
    if server.package:
        return "" if unpacked(server) else f"not installed: dragstrip servers install {server.name}"
    lacking = [package for name, package in server.needs.items() if not shutil.which(name)]
    return f"not installed: apt-get install {' '.join(lacking)}" if lacking else ""


def in_discipline(entry: Entry, *, early_data: bool) -> Stack:
    """Return the entry's stack, with early data if it is wanted and the server supports it."""
    stack = entry.stack
    fixed: Mapping[str, object] = stack.serving.fixed.get(stack.transport, {})
    settled = "early_data" in fixed or "early_data" in stack.own or not stack.resumption
    if not early_data or settled:
        return stack
    return structs.replace(stack, early_data=True)


def digests(entry: Entry) -> Iterator[str]:
    """Yield the digest of each package, the server's own package first."""
    for package in entry.packages:
        yield f"{package.name} {package.version}: {package.sha256}"
