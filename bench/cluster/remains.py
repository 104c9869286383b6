"""What killed processes leave behind, and how a capsule differs from an undisturbed one."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.capsules import compare_capsules
from dragstrip.testbed.workspace import scratch_root

GONE_S = 30.0
_NAMED = Path("/run/netns")


class Family:
    """Processes that were started, with all that came from them."""

    def __init__(self) -> None:
        self._roots: set[int] = set()
        self._seen: dict[int, str] = {}
        """When each began, by its id: ids are used again."""
        self._namespaces = _named()

    def of(self, *pids: int | None) -> None:
        self._roots.update(pid for pid in pids if pid)
        self.note()

    def note(self) -> None:
        """Records the processes that exist now."""
        for pid in (p for root in self._roots for p in (root, *_descendants(root))):
            if began := _began(pid):
                self._seen[pid] = began

    def remains(self) -> list[str]:
        """Processes, named namespaces, and folders that no process will remove. A network namespace
        without a name goes with the last of its processes."""
        deadline = time.monotonic() + GONE_S
        while (left := self._alive()) and time.monotonic() < deadline:
            time.sleep(0.2)
        found = [f"process {pid} is left" for pid in left]
        found += [f"namespace {name} is left" for name in sorted(_named() - self._namespaces)]
        return found + [f"{folder} is left" for folder in scratch_root().glob("testbed-*")]

    def _alive(self) -> list[int]:
        return [pid for pid, began in self._seen.items() if _began(pid) == began]


def differing(serial: Path, disturbed: Path) -> list[str]:
    """Differences of the capsules: other cells or blocks, a visit that is there twice, or a
    difference that `compare` finds."""
    one, other = Capsule.open(serial), Capsule.open(disturbed)
    keys = [(v.block, v.attempt, v.stack) for v in other.as_made()]
    wrong = [] if len(set(keys)) == len(keys) else ["a visit is there twice"]
    if missing := _counted(one) ^ _counted(other):
        wrong.append(f"blocks that count in one only: {sorted(missing)}")
    for row in compare_capsules(one, other).rows:
        found = row.difference
        if found is None or found.ratio is None or not found.low <= 1 <= found.high:
            wrong.append(f"compare finds a difference: {row}")
    return wrong


def _counted(capsule: Capsule) -> set[str]:
    """Blocks of which an attempt is valid in all stacks."""
    made: dict[tuple[str, int], set[str]] = {}
    for visit in capsule.visits():
        if visit.valid:
            made.setdefault((visit.block, visit.attempt), set()).add(visit.stack)
    stacks = len(capsule.manifest.study.visited)
    return {block for (block, _), found in made.items() if len(found) == stacks}


def _named() -> set[str]:
    return {space.name for space in _NAMED.iterdir()} if _NAMED.exists() else set()


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)


def _began(pid: int) -> str:
    """When a process began; empty if it is gone or a zombie."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[19] if fields[0] != "Z" else ""
    return ""
