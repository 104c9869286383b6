"""Builds the initiator tree of a page: which resource caused which, and how deep its dependencies
go."""

from collections.abc import Iterator

from msgspec import Struct

from dragstrip.model.page import Page, Resource


class TreeResource(Struct, kw_only=True):
    """A resource and the resources that it caused, in recorded order."""

    resource: Resource
    children: list["TreeResource"] = []
    depth: int = 0
    """Number of steps from a resource without an initiator; 0 for the document."""


def initiator_tree(page: Page) -> list[TreeResource]:
    """Return the roots: resources without a recorded initiator, the document first.

    An initiator must have been requested earlier, so there are no cycles. If a URL was fetched
    several times, the latest fetch before a resource counts as its initiator. The target of a
    redirect is a child of the redirect.
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
    """Yield every node, parents before children."""
    waiting = roots[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children[::-1]


def depths(roots: list[TreeResource]) -> list[int]:
    """Return the number of resources at each depth, from 0."""
    found = [node.depth for node in walk(roots)]
    return [found.count(depth) for depth in range(max(found, default=-1) + 1)]
