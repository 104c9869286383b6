"""Orders for visits, and the visits that a session returns.

A guest imports this module but not the modules that order visits, so that it starts fast.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from msgspec import Struct

from dragstrip.browsers.load import Load
from dragstrip.model.study import Block
from dragstrip.model.visit import Visit


class VisitOrder(Struct, frozen=True, kw_only=True):
    """A visit to be made."""

    block: Block
    attempt: int
    stack: str
    last: str = ""
    """Id of the last block that is ordered together with this one; empty if this block is the
    last."""


MadeVisit = tuple[Visit, Load]
"""A visit without a verdict, and its load."""
Visitor = Callable[[VisitOrder], MadeVisit]
SessionFactory = Callable[[], AbstractContextManager[Visitor]]
"""Opens the session in which visits are made. The function is sent to another process, so it must
be picklable."""
