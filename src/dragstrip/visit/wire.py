"""Keeps the records of a visit's traffic that the client's settings ask for: packets with keys, and
qlog."""

from pathlib import Path

from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.testbed.testbed import Testbed
from dragstrip.visit.packets import keep_packets
from dragstrip.visit.qlog import keep_qlog


class Wire:
    """Records the traffic of one visit, from just before the link is configured. Nothing is
    recorded unless the client's settings ask for it and there is a capsule, `artefacts`, to keep
    records in."""

    def __init__(
        self, bed: Testbed, key_log: Path | None, client: Client, artefacts: Path | None
    ) -> None:
        self._artefacts = artefacts
        self._key_log = key_log
        self._keys_before = _size(key_log)
        self.record = bed.workspace / "visit.pcapng" if artefacts and client.pcap else None
        """File to which the link writes every packet; None if packets are not kept."""
        self._qlog = bed.workspace / "qlog" if artefacts and client.qlog else None
        if self._qlog:
            self._qlog.mkdir(exist_ok=True)
            for old in self._qlog.iterdir():
                old.unlink()
            bed.origin.qlog(self._qlog)

    def keep(self, visit: Visit) -> None:
        """Write the files. Call this after link and origin have finished the visit."""
        if self._artefacts and self.record:
            keep_packets(self.record, self._keys(), self._artefacts / "pcap" / visit.file_name)
        if self._artefacts and self._qlog:
            keep_qlog(self._qlog, visit, self._artefacts / "qlog" / visit.file_name)

    def _keys(self) -> bytes:
        """Return the secrets of this visit's connections, from the file that the browser writes for
        all its visits."""
        if not self._key_log or not self._key_log.exists():
            return b""
        with self._key_log.open("rb") as file:
            file.seek(self._keys_before)
            return file.read()


def _size(file: Path | None) -> int:
    return file.stat().st_size if file and file.exists() else 0
