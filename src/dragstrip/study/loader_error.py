"""Says in a sentence how far the load generator is from browsers, as bench/loader/error.py measured
it."""

from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

_FILE = "loader_error.json"


class _Errors(Struct, frozen=True):
    cells: int
    mean_absolute: float
    rank: float | None

    @property
    def words(self) -> str:
        ranked = f", rank correlation {self.rank:.3f}" if self.rank is not None else ""
        return f"{self.mean_absolute:.1%} in the mean of {self.cells} cells{ranked}"


class _Kind(Struct, frozen=True):
    pages: int
    errors: _Errors


class LoaderError(Struct, frozen=True):
    browser: str
    kinds: dict[str, _Kind]
    """The error by kind of page: recordings, HARs without bodies, and stand-ins for unrecorded
    pages."""


@cache
def measured() -> LoaderError | None:
    """Return the measured error; None if it was not measured yet."""
    file = resources.files("dragstrip.study").joinpath(_FILE)
    return msgspec.json.decode(file.read_bytes(), type=LoaderError) if file.is_file() else None


def predicted() -> str:
    """Return the sentence that accompanies every answer from the load generator."""
    error = measured()
    if not error:
        return (
            "Predictions: the load generator made these loads, not a browser; how far it is off is "
            "not measured."
        )
    by_kind = "; ".join(
        f"on {kind.pages} {name} {kind.errors.words}" for name, kind in error.kinds.items()
    )
    return (
        "Predictions: the load generator made these loads, not a browser. How far its page load "
        f"times are off those of {error.browser}: {by_kind} (docs/reference/loader.md)."
    )
