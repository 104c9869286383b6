"""The cost of recording frames, measured on one machine (bench/visits/frames_cost.py)."""

from msgspec import Struct


class StackFramesCost(Struct, frozen=True, kw_only=True):
    """Page load time with frames compared with the time without, from blocks of one visit each."""

    stack: str
    blocks: int
    with_ms: float
    """Median page load time with frames, in ms."""
    without_ms: float
    ratio: float
    """Geometric mean over blocks of the time with frames divided by the time without."""
    low: float | None
    high: float | None
    """Upper end of the ratio's 95 % interval; None with too few blocks."""
    p_equivalent: float
    """The p-value of two one-sided tests. It is small if the times differ by less than the
    margin."""


class FramesCost(Struct, frozen=True, kw_only=True):
    measured: str
    """Time of the measurement: UTC, ISO 8601."""
    cpu: str
    cores: int
    browser_version: str
    page: str
    network: str
    margin: float
    """Margin of equivalence, as a fraction."""
    stacks: tuple[StackFramesCost, ...]
