"""What a reader must know of a figure's stacks: what they differ in beyond the protocol, in which
browsers they ran, where one is not today's, and what their servers differ by, where there are
several."""

from collections.abc import Sequence

from dragstrip.model.browsers import TODAY, find_browser
from dragstrip.model.inequality import sentences
from dragstrip.model.stack import Stack
from dragstrip.study.gaps import servers
from dragstrip.study.loader_error import predicted


def beside(stacks: Sequence[Stack]) -> list[str]:
    """The sentences to stand beside a figure of these stacks; none if there is nothing to know."""
    first, *others = stacks
    differ = [said for other in others for said in sentences(other, [first])]
    return [*differ, *surroundings(stacks)]


def surroundings(stacks: Sequence[Stack]) -> list[str]:
    """The same without what the stacks themselves differ in."""
    if any(stack.loaded_by.follows_graphs for stack in stacks):
        said = [predicted(), servers(stacks)]
    else:
        said = [browsers(stacks), servers(stacks)]
    return [one for one in said if one]


def browsers(stacks: Sequence[Stack]) -> str:
    """One sentence for each browser, with what runs there by a switch; empty if all are today's."""
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
