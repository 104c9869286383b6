"""The pinned release of a server's package, and the digests that verify its archives."""

import hashlib
import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512-[A-Za-z0-9+/]{86}==")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Pins(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A release and its digests. Raises `ValueError` for malformed digests."""

    version: str
    published: str = ""
    """Day on which the registry published the release, such as ``2026-11-20``."""
    newest_on: str = ""
    """A day on which the release was its registry's newest, where the registry's client does not
    show when it was published."""
    bytes: int
    """Approximate download size in bytes."""
    machine: str = ""
    """The only machine type on which the release runs, as printed by `uname -m`; empty means
    any."""
    archives: Mapping[str, str] = {}
    """Digest of each archive, by ``NAME VERSION``: ``sha256:HEX``, or ``sha512-BASE64`` as npm
    writes it."""
    members: Mapping[str, str] = {}
    """Members of the archive with their paths in the server's folder. A member that ends with ``/``
    is a whole folder."""
    files: Mapping[str, str] = {}
    """Sources of our program, by name. A known server has them in a folder with the server's name.
    The program's lock file (``go.sum`` or ``Cargo.lock``) has the digests of its dependencies."""

    def __post_init__(self) -> None:
        if bool(self.published) == bool(self.newest_on):
            raise ValueError("pinned has either published or newest_on")
        day = self.published or self.newest_on
        if not _DAY.fullmatch(day):
            key = "published" if self.published else "newest_on"
            raise ValueError(f"{key} is a day like 2026-11-20, not {day!r}")
        for named, digest in self.archives.items():
            if len(named.split()) != 2:
                raise ValueError(f"archive {named!r} is not NAME VERSION")
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"archive {named} has the digest {digest!r}, which is none")
        if not self.archives and not self.files:
            raise ValueError("pinned lacks both archives and files")

    @property
    def day(self) -> str:
        """The day of the release, in the form used in results."""
        return self.published or f"newest on {self.newest_on}"

    @property
    def digest(self) -> str:
        """Twelve hex digits that change with any fetched archive and any built source."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]
