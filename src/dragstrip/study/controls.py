"""Makes the controls of a study. They show what the testbed measures where no difference exists,
and where a known one does."""

from collections.abc import Sequence

from msgspec import structs

from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack

SAME, HELD = "control-same", "control-held"


def controls_of(stacks: Sequence[Stack], *, live: bool = False) -> tuple[Stack, ...]:
    """Return two copies of the first stack. In the A/A control, every difference is a false alarm.
    In the positive control, each connection's first response is held for one round trip, which the
    time to first byte must show.

    Only our origin holds responses; with other servers the positive control is left out.
    """
    first = stacks[0]
    same = structs.replace(first, name=SAME, source=f"A/A control: {first.name} under another name")
    if live or first.server != OURS:
        return (same,)
    source = f"positive control: {first.name}, first responses one round trip late"
    return same, structs.replace(first, name=HELD, source=source, hold_rtts=1)
