"""Errors of the testbed; `dragstrip.model.errors` shows where each is caught."""

from dragstrip.model.errors import DragstripError


class TestbedError(DragstripError):
    """The testbed cannot run here. The text says what was attempted and what to do."""

    __test__ = False


class ProgramEnded(TestbedError):
    """A program of a running testbed ended by itself; a new testbed may do better."""

    __test__ = False


class GuestEnded(ProgramEnded):
    """The guest of a race in virtual time died, or was ended because it hung."""

    __test__ = False
