"""Limits on the data that a reader accepts from a file. Each limit is an option of `page
import`."""

from msgspec import Struct

from dragstrip.pages.format.recording import PageError


class Limits(Struct, frozen=True, kw_only=True):
    """Limits that protect memory, disk and time from a hostile or broken file."""

    max_bytes: int = 2_000_000_000
    """Most bytes that a recording may unpack to. A single body may have an eighth of this."""
    max_ratio: int = 200
    """Largest compression ratio. Data that unpacks to less than `SMALL` may exceed it."""
    max_records: int = 100_000
    """Most exchanges, records, files or members."""
    max_name: int = 16_000
    """Most characters of a URL, or bytes of a header line."""
    max_depth: int = 32
    """Most levels of nested folders."""

    @property
    def most_body(self) -> int:
        """Most bytes of one body. The limit is lower because several copies of a body are in memory
        at once."""
        return max(self.max_bytes // 8, 1)


DEFAULT = Limits()
SMALL = 16_000_000
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


class Beyond(PageError):
    """Raised if a limit is exceeded; the text names the option that raises the limit."""


def beyond(what: str, option: str, value: int) -> Beyond:
    """Return the error for a limit `option` with this `value`. `what` begins the error's sentence,
    such as ``it unpacks to``."""
    is_size = option == "max_bytes"
    limit, twice = (_size(n) if is_size else str(n) for n in (value, 2 * value))
    flag = option.replace("_", "-")
    return Beyond(f"{what} more than {limit}; if it is meant to, import it with --{flag} {twice}")


def _size(count: int) -> str:
    scale, unit = next((u for u in _UNITS if count >= u[0]), (1, "B"))
    return f"{count / scale:g}{unit}"


class Meter:
    """Counts the bytes that are unpacked from one recording."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._bytes = self._records = 0

    def unpacked(self, count: int) -> None:
        """Count this many more bytes. Raises `Beyond`."""
        self._bytes += count
        if self._bytes > self.limits.max_bytes:
            raise beyond("it unpacks to", "max_bytes", self.limits.max_bytes)

    def record(self) -> None:
        """Count one more record. Raises `Beyond`."""
        self._records += 1
        if self._records > self.limits.max_records:
            raise beyond("the number of its records is", "max_records", self.limits.max_records)


def check_body(length: int, what: str, limits: Limits) -> None:
    """Raise `Beyond` if a body of this length is too long."""
    if length > limits.most_body:
        size, twice = _size(limits.most_body), _size(2 * limits.max_bytes)
        raise Beyond(
            f"{what} has more than {size}, an eighth of --max-bytes; if it is meant to, import it "
            f"with --max-bytes {twice}"
        )


def check_ratio(packed: int, unpacked: int, what: str, limits: Limits) -> None:
    """Raise `Beyond` if the compression ratio of `what` is too large."""
    if unpacked > SMALL and unpacked > limits.max_ratio * max(packed, 1):
        raise beyond(f"{what} is compressed by a factor of", "max_ratio", limits.max_ratio)
