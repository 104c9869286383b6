"""Adapts a graph to a page in another content coding, whose bytes on the wire differ."""

from msgspec import structs

from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.page import Page
from dragstrip.pages.graph.bodies import Body
from dragstrip.pages.graph.offsets import decoded_bytes, on_wire
from dragstrip.pages.graph.scene import Scene


def recoded(graph: Graph, before: Page, after: Page) -> Graph:
    """Return the graph of the page `before`, with its byte offsets changed to the wire bytes of
    `after`."""
    old, new = Scene(before), Scene(after)

    def moved(wait: Wait) -> Wait:
        if wait.bytes is None or wait.node == LOAD:
            return wait
        url = graph.nodes[wait.node].url
        was, now = old.body(url), new.body(url)
        return Wait(wait.node, _moved(wait.bytes, was, now)) if was and now else wait

    def node(one: Node) -> Node:
        return structs.replace(one, waits=tuple(map(moved, one.waits)))

    return structs.replace(
        graph,
        nodes=tuple(map(node, graph.nodes)),
        parsed=tuple(map(moved, graph.parsed)),
        body=tuple(map(moved, graph.body)),
    )


def _moved(at: int, was: Body, now: Body) -> int | None:
    """Return the corresponding byte on the wire in the new body; None for its end."""
    read = decoded_bytes(was.wire, was.coding, at)
    wire = on_wire(now.wire, now.coding, [read])[0]
    return wire if wire < len(now.wire) else None
