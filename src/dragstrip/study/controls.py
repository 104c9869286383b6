"""The controls of a study: stacks that say what the testbed sees where nothing, or something known,
differs."""

from collections.abc import Sequence

from msgspec import structs

from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack

SAME, HELD = "control-same", "control-held"


def controls_of(stacks: Sequence[Stack], *, live: bool = False) -> tuple[Stack, ...]:
    """The first stack once more (A/A: every difference is a false alarm), and with each
    connection's first response held for one round trip (positive: to be found on the first byte).

    Only our origin holds responses; with other servers the positive control is left out.
    """
    first = stacks[0]
    same = structs.replace(first, name=SAME, source=f"A/A control: {first.name} under another name")
    if live or first.server != OURS:
        return (same,)
    source = f"positive control: {first.name}, first responses one round trip late"
    return same, structs.replace(first, name=HELD, source=source, hold_rtts=1)
