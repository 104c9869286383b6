"""Reads a result folder as it grows. The reader never writes and never locks."""

import os
import time
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from dragstrip.model.visit import Visit
from dragstrip.results.capsule import JOURNAL, MANIFEST, Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.verdict.judge import Judge
from dragstrip.verdict.rules import VERSION
from dragstrip.watch.tally import StudyTally

State = Literal["running", "stopped", "finished"]
_PACE_S = 600.0
"""Seconds over which the pace is measured."""
_LEAST = 10
"""Fewest visits for a pace."""


class Follower:
    """Follows one folder, which must hold a capsule. Raises `CapsuleError` if the folder holds
    none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = 0
        """Increases whenever the study changed and everything is read again."""
        self._decoder = msgspec.json.Decoder(Visit)
        self._manifest_s = 0.0
        self._caught_up: bool = False
        self._load()

    def read(self, most: int = 500) -> bool:
        """Read up to `most` new visits; False if there were none."""
        self._reload()
        try:
            journal = (self.folder / JOURNAL).open("rb")
        except FileNotFoundError:
            return False
        with journal:
            journal.seek(self._end)
            before = len(self.offsets)
            for line in journal:
                if not line.endswith(b"\n") or len(self.offsets) - before == most:
                    break  # the rest of the line is still being written
                visit = self._decoded(line)
                self.offsets.append(self._end)
                self.cell_of.append(self.tally.add(visit))
                self._end += len(line)
        made = len(self.offsets) - before
        if self._caught_up and made:
            self._arrivals.append((time.monotonic(), made))
        if not self._caught_up and made < most:
            self._caught_up, self._began = True, time.monotonic()
        return bool(made)

    def visit(self, number: int) -> Visit | None:
        """Return the visit at this place in the journal; None if there is none."""
        if not 0 <= number < len(self.offsets):
            return None
        with (self.folder / JOURNAL).open("rb") as journal:
            journal.seek(self.offsets[number])
            return self._decoded(journal.readline())

    @property
    def state(self) -> State:
        if _locked(self.folder / JOURNAL):
            return "running"
        last = self.manifest.starts[-1] if self.manifest.starts else None
        if not (last and last.finished):
            return "stopped"
        # A run counts as finished only after its last visits were read.
        unread = (self.folder / JOURNAL).stat().st_size > self._end
        return "running" if unread else "finished"

    def per_hour(self) -> float | None:
        """Return the visits per hour: recent ones while a run is active, else all finished starts;
        None if not known yet."""
        now = time.monotonic()
        while self._arrivals and self._arrivals[0][0] < now - _PACE_S:
            self._arrivals.popleft()
        if self.state == "running":
            visits_made = sum(n for _, n in self._arrivals)
            if visits_made < _LEAST:
                return None
            return visits_made / max(1.0, now - max(self._began, now - _PACE_S)) * 3600
        took_s = self.took_s()
        return len(self.offsets) / took_s * 3600 if took_s else None

    def took_s(self) -> float:
        """Return the total duration of all finished starts, in s."""
        return sum(
            (
                datetime.fromisoformat(start.finished) - datetime.fromisoformat(start.started)
            ).total_seconds()
            for start in self.manifest.starts
            if start.finished
        )

    def _decoded(self, line: bytes) -> Visit:
        """Read a visit, judged by today's rules."""
        visit = self._decoder.decode(line)
        return visit if self.manifest.rules == {VERSION} else self._judge.in_turn(visit)

    def _load(self) -> None:
        self._manifest_s = (self.folder / MANIFEST).stat().st_mtime if self._there() else 0.0
        self.manifest: Manifest = Capsule.open(self.folder).manifest
        self.tally = StudyTally(self.manifest.study)
        self._judge = Judge(self.manifest.study)
        self.offsets: list[int] = []
        """Byte offset of each visit's line in the journal."""
        self.cell_of: list[int | None] = []
        """The number of each visit's cell, None if the study no longer has the cell."""
        self._end = 0
        self._arrivals: deque[tuple[float, int]] = deque()
        self._caught_up = False
        self._began = time.monotonic()
        """Monotonic time at which all visits made before the follower started had been read."""
        self.generation += 1

    def _reload(self) -> None:
        written = (self.folder / MANIFEST).stat().st_mtime
        if written == self._manifest_s:
            return
        manifest = Capsule.open(self.folder).manifest
        if manifest.study != self.manifest.study:
            self._load()
            return
        self.manifest, self._manifest_s = manifest, written

    def _there(self) -> bool:
        return (self.folder / MANIFEST).exists()


def _locked(journal: Path) -> bool:
    """Return whether a run holds the journal's lock, as the kernel reports. Trying to lock the
    journal could block a run that is just starting. See proc_locks(5)."""
    try:
        inode = journal.stat().st_ino
        locks = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return False
    ends = f":{inode}"
    return any("WRITE" in line and line.split()[5].endswith(ends) for line in map(str, locks))


def niced() -> None:
    """Give this thread the lowest priority, so that watching does not disturb the run."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
