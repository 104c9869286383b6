"""Finds the body that a WARC's revisit record refers to (WARC 1.1, section 6.7)."""

import base64
import binascii
import hashlib
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.pages.format.recording import Recorded
from dragstrip.pages.format.spool import whole

_SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}
Digest = tuple[str, bytes]


class Refers(Struct, frozen=True, kw_only=True):
    """The identifiers of a record (id, URI, date, digest), and of the record that it refers to.
    Missing identifiers are empty."""

    id: str = ""
    uri: str = ""
    date: str = ""
    digest: str = ""
    """Digest of the payload, as written."""
    to_id: str = ""
    to_uri: str = ""
    to_date: str = ""


class Bodies:
    """The complete answers in a recording, by every identifier that a revisit may use."""

    def __init__(self, held: Sequence[tuple[Refers, Recorded]]) -> None:
        self._held = held
        self._by_id = {r.id: (r, a) for r, a in reversed(held) if r.id}
        self._by_date = {(r.uri, r.date): (r, a) for r, a in reversed(held)}
        self._by_uri = {r.uri: (r, a) for r, a in held}
        self._by_digest = {digest(r.digest): a for r, a in held if r.digest}
        self._hashed: dict[str, dict[bytes, Recorded]] = {}

    def of(self, revisit: Refers) -> Recorded | None:
        """Return the answer that a revisit refers to; None if the body is in another file."""
        said = (
            self._by_id.get(revisit.to_id) if revisit.to_id else None,
            self._by_date.get((revisit.to_uri, revisit.to_date)),
        )
        for found in said:
            if found and not _contradict(found[0].digest, revisit.digest):
                return found[1]
        if revisit.digest:
            return self._with(digest(revisit.digest))
        found = self._by_uri.get(revisit.to_uri or ("" if revisit.to_id else revisit.uri))
        return found[1] if found else None

    def add(self, revisit: Refers, found: Recorded) -> None:
        """Add a revisit with the body that it stands for, so that other revisits may refer to
        it."""
        self._by_id.setdefault(revisit.id, (revisit, found))
        self._by_date.setdefault((revisit.uri, revisit.date), (revisit, found))

    def _with(self, wanted: Digest) -> Recorded | None:
        """Return the answer with this digest, computed from its body if its record lacks one."""
        algorithm, value = wanted
        if wanted in self._by_digest or algorithm not in _SIZES:
            return self._by_digest.get(wanted)
        if algorithm not in self._hashed:
            untold = [a for r, a in self._held if not r.digest]
            self._hashed[algorithm] = {
                hashlib.new(algorithm, whole(a).wire, usedforsecurity=False).digest(): a
                for a in untold
            }
        return self._hashed[algorithm].get(value)


def _contradict(one: str, other: str) -> bool:
    """Return whether two digests show that the payloads differ."""
    this, that = digest(one), digest(other)
    return bool(one and other) and this[0] == that[0] and this[1] != that[1]


def digest(text: str) -> Digest:
    """Parse a digest such as ``sha-256:AB12...``, in hexadecimal or Base32 of any case, into
    algorithm and bytes."""
    name, _, value = text.strip().partition(":")
    algorithm = name.strip().lower().replace("-", "")
    value = value.strip().rstrip("=")
    size = _SIZES.get(algorithm, 0)
    try:
        if size and len(value) == 2 * size:
            return algorithm, bytes.fromhex(value)
        if size and len(value) == -(-8 * size // 5):
            return algorithm, base64.b32decode(value.upper() + "=" * (-len(value) % 8))
    except (ValueError, binascii.Error):
        pass
    return algorithm, value.lower().encode()
