"""Writes notes for a figure's stacks: how they differ beyond the protocol, which old browsers they
ran in, and how their servers differ."""

from collections.abc import Sequence

from dragstrip.model.browsers import TODAY, find_browser
from dragstrip.model.inequality import sentences
from dragstrip.model.stack import Stack
from dragstrip.study.gaps import servers
from dragstrip.study.loader_error import predicted


def beside(stacks: Sequence[Stack]) -> list[str]:
    """Return the notes for a figure of these stacks; none if there is nothing to note."""
    first, *others = stacks
    differ = [said for other in others for said in sentences(other, [first])]
    return [*differ, *surroundings(stacks)]


def surroundings(stacks: Sequence[Stack]) -> list[str]:
    """Return the notes that apply to all stacks: on browsers and servers, but not on differences
    between the stacks."""
    if any(stack.loaded_by.follows_graphs for stack in stacks):
        said = [predicted(), servers(stacks)]
    else:
        said = [browsers(stacks), servers(stacks)]
    return [one for one in said if one]


def browsers(stacks: Sequence[Stack]) -> str:
    """Return one sentence per browser that is not current, with the switches it ran with; empty if
    all are current."""
    if all(stack.browser == TODAY for stack in stacks):
        return ""
    said = []
    for name in dict.fromkeys(stack.browser for stack in stacks):
        browser = find_browser(name)
        mine = [stack for stack in stacks if stack.browser == name]
        switches = dict.fromkeys(
            switch for s in mine if (switch := browser.switched_on.get(s.protocol))
        )
        on = f", with {' and '.join(switches)}" if switches else ""
        said.append(f"{', '.join(s.name for s in mine)}: {browser.what}{on}")
    return "Browsers: " + "; ".join(said) + "."
