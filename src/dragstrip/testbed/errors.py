"""Errors of the testbed; `dragstrip.model.errors` shows where each is caught."""

from dragstrip.model.errors import DragstripError


class TestbedError(DragstripError):
    """Raised if the testbed cannot run on this machine. The text says what was attempted and what
    to do."""

    __test__ = False


class ProgramEnded(TestbedError):
    """Raised if a program of a running testbed ended by itself. A new testbed may work."""

    __test__ = False


class GuestEnded(ProgramEnded):
    """Raised if the guest of a race in virtual time died, or was ended because it hung."""

    __test__ = False
