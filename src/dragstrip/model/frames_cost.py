"""The cost of recording frames, measured on one machine (bench/visits/frames_cost.py)."""

from msgspec import Struct


class StackFramesCost(Struct, frozen=True, kw_only=True):
    """Page load time with frames over without, from blocks of one visit each."""

    stack: str
    blocks: int
    with_ms: float
    """Median page load time with frames, in ms."""
    without_ms: float
    ratio: float
    """Geometric mean over blocks of the time with frames divided by the time without."""
    low: float | None
    high: float | None
    """Upper end of the 95 % interval; None with too few blocks."""
    p_equivalent: float
    """The p of two one-sided tests: small if the two differ by less than the margin."""


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
