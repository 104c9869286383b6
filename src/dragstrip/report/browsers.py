"""Which browser each stack ran in, where it is not today's: what a reader must know of a figure."""

from collections.abc import Sequence

from dragstrip.model.browsers import GENERATION, SWITCHED_ON, TODAY
from dragstrip.model.stack import Stack


def browsers(stacks: Sequence[Stack]) -> str:
    """One sentence for each browser, with what runs there by a switch; empty if all are today's."""
    if all(stack.browser == TODAY for stack in stacks):
        return ""
    said = []
    for browser in dict.fromkeys(stack.browser for stack in stacks):
        mine = [stack for stack in stacks if stack.browser == browser]
        switches = dict.fromkeys(
            switch for s in mine if (switch := SWITCHED_ON.get((browser, s.protocol)))
        )
        on = f", with {' and '.join(switches)}" if switches else ""
        said.append(f"{', '.join(s.name for s in mine)}: {GENERATION[browser]}{on}")
    return "Browsers: " + "; ".join(said) + "."
