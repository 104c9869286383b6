"""Who asked for what: the initiator tree of a page, and how deep its dependencies go."""

from collections.abc import Iterator

from msgspec import Struct

from dragstrip.model.page import Page, Resource


class TreeResource(Struct, kw_only=True):
    """A resource and the resources it caused, in recorded order."""

    resource: Resource
    children: list["TreeResource"] = []
    depth: int = 0
    """Steps from a resource without a cause; the document has 0."""


def initiator_tree(page: Page) -> list[TreeResource]:
    """The roots: resources without a recorded initiator, the document first.

    An initiator must have been asked for earlier, so there are no cycles. A URL that was fetched
    several times caused what follows it by its latest fetch. Redirects hang on what redirected.
    """
    roots: list[TreeResource] = []
    latest: dict[str, TreeResource] = {}
    for resource in page.resources:
        node = TreeResource(resource=resource)
        parent = latest.get(resource.initiator)
        if parent:
            node.depth = parent.depth + 1
            parent.children.append(node)
        else:
            roots.append(node)
        latest[resource.url] = node
    return roots


def walk(roots: list[TreeResource]) -> Iterator[TreeResource]:
    """Every node, parents before children."""
    waiting = roots[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children[::-1]


def depths(roots: list[TreeResource]) -> list[int]:
    """How many resources lie at each depth, from 0."""
    found = [node.depth for node in walk(roots)]
    return [found.count(depth) for depth in range(max(found, default=-1) + 1)]
