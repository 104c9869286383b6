"""Prints a page's graph on the terminal."""

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dragstrip.model.graph import LOAD, Graph, Node, Wait

_MOST_WAITS = 6
"""Most waits per node that are printed. The drawing shows all."""


def print_graph(graph: Graph) -> None:
    console = Console()
    ways = ", ".join(
        f"{many} by {way}" for way, many in Counter(n.found for n in graph.nodes).items()
    )
    console.print(
        f"{len(graph.nodes)} requests ({ways}); from {graph.source}; digest {graph.digest}",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("", "request", "found by", "waits for", "then", box=None, pad_edge=False)
    table.columns[0].justify = table.columns[4].justify = "right"
    for index, node in enumerate(graph.nodes):
        method = "" if node.method == "GET" else f"{node.method} "
        table.add_row(
            str(index),
            Text(f"{method}{node.url}", overflow="ellipsis", no_wrap=True),
            node.found,
            _said(node.waits),
            _then(node),
        )
    console.print(table)
    if graph.load_delay_ms:
        console.print(f"the load event ends {graph.load_delay_ms:.1f} ms after the last of them")


def _then(node: Node) -> str:
    if not node.delay_ms:
        return ""
    return f"{'timer, ' if node.timer else ''}{node.delay_ms:.0f} ms"


def _said(waits: tuple[Wait, ...]) -> str:
    """Write waits in words, such as ``0 to byte 1420, 3, 4``; of many waits, only the last ones."""
    said = [
        "load" if w.node == LOAD else str(w.node) + (f" to byte {w.bytes}" if w.bytes else "")
        for w in waits
    ]
    left = len(said) - _MOST_WAITS
    return ", ".join(said) if left <= 0 else f"{left} more, " + ", ".join(said[left:])
