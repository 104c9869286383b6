"""Evidence of how names were resolved during a visit."""

from typing import Literal

from msgspec import Struct


class NameLookup(Struct, frozen=True, kw_only=True):
    """A query and its answer, as the resolver logged them."""

    t_us: int
    """When the query reached the resolver."""
    answered_us: int
    """When the resolver answered."""
    name: str
    kind: str
    """The record that was asked for, such as A, AAAA or HTTPS."""
    transport: Literal["udp", "tcp", "doh"]
    missed: bool
    """Whether the resolver had to ask upstream."""
    answers: int
    """Records in the answer; 0 if there are none."""
