"""The capsule: a study's result folder.

manifest.json    what was asked, by whom, on which machine  (`dragstrip.results.manifest`)
journal.jsonl    every visit with all its evidence           (`dragstrip.results.journal`)
*.parquet        tidy tables, redrawn from the journal       (`dragstrip.results.tables.build`)
report/          the report, redrawn from both               (`dragstrip.report.site.site`)
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from dragstrip.model.calibration import Calibration
from dragstrip.model.visit import Visit
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.results.journal import CapsuleError, Journal, read
from dragstrip.results.manifest import SCHEMA, Manifest
from dragstrip.verdict import rules
from dragstrip.verdict.judge import Judge
from dragstrip.verdict.together import in_blocks, in_study, with_reasons

__all__ = ["Capsule", "CapsuleError"]

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"


class Capsule:
    """A result folder, open for reading, or for writing by exactly one process.

    >>> with Capsule.create(folder, manifest) as capsule:   # new, or the same study continued
    ...     capsule.append(visit)
    ...     capsule.finish()
    >>> slow = [v for v in Capsule.open(folder).visits() if v.plt_ms and v.plt_ms > 5000]
    """

    def __init__(self, path: Path, manifest: Manifest, journal: Journal | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._journal = journal

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Self:
        """Open `path` for writing: a new capsule, or an existing one of the same study.

        Raises `CapsuleError` if the folder holds another study or other files, or if another
        process writes it.
        """
        path.mkdir(parents=True, exist_ok=True)
        if not (path / MANIFEST).exists() and {p.name for p in path.iterdir()} - {JOURNAL}:
            raise CapsuleError(
                f"{path}: this folder is not empty and holds no capsule; give another --out"
            )
        journal = Journal(path / JOURNAL)
        try:
            if (path / MANIFEST).exists():
                manifest = _continued(path, manifest)
            _replace(path / MANIFEST, manifest.to_json())
        except BaseException:
            journal.close()
            raise
        return cls(path, manifest, journal)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open `path` for reading, which works even while another process writes.

        Raises `CapsuleError` if there is no capsule or its manifest cannot be read.
        """
        return cls(path, _read_manifest(path))

    def append(self, visit: Visit, *, sync: bool = True) -> None:
        """Save a visit; returns when it is safely on disk. See `Journal.append`."""
        if self._journal is None:
            raise CapsuleError(f"{self.path}: opened for reading; use Capsule.create to add visits")
        self._journal.append(visit, sync=sync)

    def visits(self) -> Iterator[Visit]:
        """Yield every visit so far, of all attempts, in the order they were made, with all reasons
        against it by today's rules.

        The journal is read twice, so that only one visit is in memory at a time.
        """
        return with_reasons(self._alone(), in_study(self.manifest.study, self._alone()))

    def made(self) -> Iterator[Visit]:
        """Yield every visit so far, for a schedule. Reasons that follow only from all visits of a
        network together are left out, because a rerun of a block would not remove them."""
        return with_reasons(self._alone(), in_blocks(self.manifest.study, self._alone()))

    def as_made(self) -> Iterator[Visit]:
        """Yield the journal's visits with the reasons from their own evidence, by the rules under
        which they were made."""
        journal = self.path / JOURNAL
        return read(journal) if journal.exists() else iter(())

    def _alone(self) -> Iterator[Visit]:
        """Yield the visits with the reasons from their own evidence, by today's rules."""
        if self.manifest.rules == {rules.VERSION}:
            yield from self.as_made()
            return
        yield from map(Judge(self.manifest.study).in_turn, self.as_made())

    def calibrated(self, found: Calibration) -> None:
        """Record in the manifest the link's calibration before this start's visits."""
        self.manifest = self.manifest.calibrated(found)
        _replace(self.path / MANIFEST, self.manifest.to_json())

    def admitted(self, found: Fingerprint) -> None:
        """Record in the manifest that a machine of a cluster makes visits of this start."""
        self.manifest = self.manifest.admitting(found)
        _replace(self.path / MANIFEST, self.manifest.to_json())

    def finish(self) -> None:
        """Record in the manifest that this start has finished."""
        self.manifest = self.manifest.finished()
        _replace(self.path / MANIFEST, self.manifest.to_json())

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _continued(path: Path, manifest: Manifest) -> Manifest:
    there = _read_manifest(path)
    if differences := there.differences(manifest):
        raise CapsuleError(
            f"{path}: holds a different study ({'; '.join(differences)}); give another --out, or "
            "the same parameters to resume it"
        )
    return there.continued_by(manifest)


def _read_manifest(path: Path) -> Manifest:
    file = path / MANIFEST
    try:
        data = file.read_bytes()
        schema = msgspec.json.decode(data).get("schema")
        if schema != SCHEMA:
            raise CapsuleError(
                f"{file}: schema {schema}, but this dragstrip reads {SCHEMA}; "
                "use the version of dragstrip that wrote it"
            )
        return Manifest.from_json(data)
    except (FileNotFoundError, NotADirectoryError):
        raise CapsuleError(
            f"{path}: no capsule here (there is no {MANIFEST}); give the folder of a finished run"
        ) from None
    except (msgspec.DecodeError, AttributeError) as error:
        raise CapsuleError(f"{file}: cannot be read ({error}); restore it from a copy") from None


def _replace(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
