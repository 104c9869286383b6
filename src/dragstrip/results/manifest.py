"""The manifest: everything on which a capsule's visits depend. A report needs no other file. If
conditions have changed, a study is not continued."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.model.addresses import sharing
from dragstrip.model.calibration import Calibration
from dragstrip.model.frames_cost import FramesCost
from dragstrip.model.page import Page
from dragstrip.model.study import Study
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.results.machine import Machine
from dragstrip.verdict.rules import VERSION, limits_today
from dragstrip.version import __version__

SCHEMA = 1
"""Version of the format. A format that an older reader would misread gets a higher version."""


class Start(Struct, frozen=True, kw_only=True):
    """One start of the program that added visits. A resumed study has several."""

    started: str
    """Time of the start: UTC, ISO 8601."""
    finished: str | None = None
    """Time of the end: UTC, ISO 8601; None if the start was interrupted or is still running."""
    command: tuple[str, ...]
    dragstrip_version: str
    rules: int = 1
    """Version of the verdict's rules in this program, `dragstrip.verdict.rules.VERSION`; 1 in
    capsules older than this field."""
    frozen: str = ""
    """Version of the rules by which a paper's claims will be evaluated; empty for other studies.
    Older capsules have a digest of these rules, or nothing."""
    git: str | None
    """`git describe` of the program's checkout; None if it does not run from one."""
    browser_version: str
    machine: Machine
    server_versions: Mapping[str, str] = {}
    """Versions of servers other than our own, by name."""
    guest: str = ""
    """Name of the guests' kernel; empty in real time."""
    calibration: Calibration | None = None
    """The link's calibration at this start; None if it was not measured."""
    frames_cost: FramesCost | None = None
    """The measured cost of recording frames on this machine; None if it was not measured."""
    admitted: tuple[Fingerprint, ...] = ()
    """The machines of a cluster that made this start's visits; empty if `machine` made them."""

    @classmethod
    def here(cls, *, browser_version: str, command: tuple[str, ...]) -> "Start":
        """Describe a start of this program on this machine, now."""
        return cls(
            started=now(),
            command=command,
            dragstrip_version=__version__,
            rules=VERSION,
            git=own_git(),
            browser_version=browser_version,
            machine=Machine.here(),
        )


class Manifest(Struct, frozen=True, kw_only=True):
    """The content of a capsule's `manifest.json`."""

    study: Study
    starts: tuple[Start, ...]
    schema: int = SCHEMA

    def differences(self, other: "Manifest") -> list[str]:
        """Return why `other` is another study, in words; empty if its visits may be added.

        More runs, pages and networks continue a study: a block's order and seed depend only on its
        id. A page may have moved as long as its digest is the same.
        """
        mine, theirs = _identity(self.study), _identity(other.study)
        for grows in ("pages", "networks"):
            if set(mine[grows]) <= set(theirs[grows]):
                mine[grows] = theirs[grows]
        return [f"{k} {mine[k]} there, {theirs[k]} here" for k in mine if mine[k] != theirs[k]]

    def continued_by(self, other: "Manifest") -> "Manifest":
        """Return the manifest after `other` has started to add visits to the same study."""
        return structs.replace(self, study=other.study, starts=self.starts + other.starts)

    @property
    def rules(self) -> set[int]:
        """Return the versions of the rules under which the visits were made; today's version if
        there are no visits yet."""
        return {start.rules for start in self.starts} or {VERSION}

    def finished(self) -> "Manifest":
        """Return the manifest with the end time of its last start."""
        *before, last = self.starts
        return structs.replace(self, starts=(*before, structs.replace(last, finished=now())))

    def calibrated(self, found: Calibration) -> "Manifest":
        """Return the manifest with a calibration at its last start."""
        *before, last = self.starts
        return structs.replace(self, starts=(*before, structs.replace(last, calibration=found)))

    def admitting(self, found: Fingerprint) -> "Manifest":
        """Return the manifest with a machine of a cluster that makes visits of its last start."""
        *before, last = self.starts
        admitted = (*last.admitted, found)
        browsers = dict.fromkeys(v for one in admitted for v in one.browsers.values())
        start = structs.replace(
            last,
            admitted=admitted,
            browser_version=", ".join(browsers),
            server_versions=last.server_versions or found.servers,
            guest=last.guest or found.guest,
        )
        return structs.replace(self, starts=(*before, start))

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, enc_hook=_encode), indent=2) + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Manifest":
        """Read a manifest. Raises `msgspec.ValidationError` or `msgspec.DecodeError`, which name
        the place."""
        kept = msgspec.json.decode(data, type=cls, dec_hook=_decode)
        limits = limits_today(kept.study.thresholds, kept.rules)
        return structs.replace(kept, study=structs.replace(kept.study, thresholds=limits))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _identity(study: Study) -> dict[str, Any]:
    return {
        "study": study.name,
        "seed": study.seed,
        "pages": [f"{p.name} ({p.digest}{_shared(p, study)})" for p in study.pages],
        "networks": [f"{n.name} ({n.describe()})" for n in study.networks],
        "stacks": [f"{s.name} ({s.fingerprint})" for s in study.visited],
        "connections": list(study.connections),
        "warm_ups": study.warm_ups,
        "clock": study.clock.describe(),
        "client": msgspec.to_builtins(study.client),
        "thresholds": study.thresholds.changed() or "the defaults",
        "per_guest": study.per_guest,
    }


def _shared(page: Page, study: Study) -> str:
    """Return a note that the page has its recorded addresses. It is empty if no hosts share one, so
    that studies older than such addresses can continue."""
    return ", addresses as recorded" if study.addresses == "recorded" and sharing(page) else ""


def _encode(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _decode(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind.__name__)


def own_git() -> str | None:
    def git(*args: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        # A package installed inside another checkout must not report that checkout's hash.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None
