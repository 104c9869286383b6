"""The condition for a page to count as loaded: its load event, or another condition that page or
study names."""

from typing import Literal

from msgspec import Struct

from dragstrip.model.errors import InputError

AT_LOAD = "load"
"""The default value of `done`."""

DoneKind = Literal["load", "network-idle", "selector", "mark"]


class Done(Struct, frozen=True):
    """A condition, written ``load``, ``network-idle``, ``selector:CSS`` or ``mark:NAME``."""

    kind: DoneKind
    what: str = ""
    """The selector, or the name of the user-timing mark."""

    @property
    def whole(self) -> bool:
        """Whether a page that counts as loaded by this condition has no requests under way."""
        return self.kind in ("load", "network-idle")


def parse_done(text: str) -> Done:
    """Parse a value of `done`. Raises `InputError`."""
    kind, colon, what = text.partition(":")
    if text in ("load", "network-idle"):
        return Done(text)  # type: ignore[arg-type]
    if kind in ("selector", "mark") and colon and what.strip():
        return Done(kind, what.strip())  # type: ignore[arg-type]
    raise InputError(
        f"done {text!r} is unknown: write load, network-idle, selector:CSS (such as "
        "selector:#hero) or mark:NAME (a user-timing mark of the page)"
    )


def said_done(text: str) -> str:
    """Say in words what a page load time measures under this value of `done`."""
    done = parse_done(text)
    return {
        "load": "the load event",
        "network-idle": "the last request before half a second without any",
        "selector": f"the first sight of {done.what}",
        "mark": f"the page's mark {done.what}",
    }[done.kind]
