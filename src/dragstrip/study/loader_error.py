"""How far the load generator is off, as bench/loader.py measured it, in a sentence."""

from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

_FILE = "loader_error.json"


class _Whole(Struct, frozen=True):
    cells: int
    mean_absolute: float
    rank: float | None


class LoaderError(Struct, frozen=True):
    whole: _Whole
    pages: int
    browser: str


@cache
def measured() -> LoaderError | None:
    """None if not measured yet."""
    file = resources.files("dragstrip.study").joinpath(_FILE)
    return msgspec.json.decode(file.read_bytes(), type=LoaderError) if file.is_file() else None


def predicted() -> str:
    """What stands beside every answer that rests on the load generator."""
    found = measured()
    if not found:
        return (
            "Predictions: the load generator made these loads, not a browser; how far it is off is "
            "not measured."
        )
    rank = f", rank correlation {found.whole.rank:.2f}" if found.whole.rank is not None else ""
    return (
        "Predictions: the load generator made these loads, not a browser. On "
        f"{found.pages} pages ({found.whole.cells} cells) its page load times were "
        f"{found.whole.mean_absolute:.1%} off those of {found.browser} in the mean{rank} "
        "(docs/reference/loader.md)."
    )
