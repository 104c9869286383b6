"""What can go wrong below a visit."""


class TestbedError(RuntimeError):
    """The testbed cannot run here. The text says what was attempted and what to do."""

    __test__ = False


class ProgramEnded(TestbedError):
    """A program of a running testbed ended by itself; a new testbed may do better."""

    __test__ = False
