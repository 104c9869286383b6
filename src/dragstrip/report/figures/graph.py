"""Draws a page's graph. Each request stands at the time that its waits imply, in round trips of a
fast network."""

from collections.abc import Iterator, Sequence
from html import escape

from markupsafe import Markup

from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.page import Page
from dragstrip.report.figures.page_view import short_url
from dragstrip.report.site.templating import environment
from dragstrip.report.words.numbers import counted, duration

_WIDTH, _LABEL, _ROW, _AXIS = 1100, 380, 13, 24
_NEAR = 0.2
"""Distance in steps from the load event: requests that end within it get a line to the event."""
_COLOURS = {
    "Document": "#33479e",
    "Stylesheet": "#7b4fa3",
    "Script": "#c05a00",
    "Font": "#8a6d00",
    "Image": "#1a9c86",
    "other": "#8b8f98",
}


def draw_graph(page: Page, graph: Graph) -> str:
    """Draw the graph as a file's text. Everything that comes from the page is escaped."""
    made = environment()
    made.globals.update(counted=counted)
    steps = places(graph)
    return made.get_template("graph.html.j2").render(
        page=page,
        graph=graph,
        found=sorted({n.found for n in graph.nodes}),
        depth=f"{max((s + 1 for s in steps if s is not None), default=0):.1f}",
        delayed=[n for n in graph.nodes if n.delay_ms],
        duration=duration,
        colours=_COLOURS,
        picture=Markup(_picture(graph, steps)),
    )


def places(graph: Graph) -> list[float | None]:
    """Return the step at which each request starts, if every answer takes one step and its bytes
    arrive evenly; None for requests after the load event."""
    sizes = _sizes(graph)
    found: list[float | None] = []
    for node in graph.nodes:
        at: float | None = 0.0
        for wait in node.waits:
            held = _held(wait, found, sizes)
            at = None if held is None or at is None else max(at, held)
        found.append(at)
    return found


def binding(graph: Graph, steps: Sequence[float | None], node: Node) -> Wait | None:
    """Return the wait of the node that ends last; waits for the load event are ignored."""
    sizes = _sizes(graph)
    known = [(h, w) for w in node.waits if (h := _held(w, steps, sizes)) is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _held(wait: Wait, steps: Sequence[float | None], sizes: Sequence[int]) -> float | None:
    start = None if wait.node == LOAD else steps[wait.node]
    if start is None:
        return None
    share = 1.0 if wait.bytes is None else wait.bytes / max(sizes[wait.node], wait.bytes, 1)
    return start + share


def _sizes(graph: Graph) -> list[int]:
    """Return for each node the most bytes that any wait needs."""
    most = [0] * len(graph.nodes)
    for wait in (w for n in (*graph.nodes,) for w in n.waits):
        if wait.node != LOAD:
            most[wait.node] = max(most[wait.node], wait.bytes or 0)
    return [round(size * 1.1) for size in most]


def _picture(graph: Graph, steps: Sequence[float | None]) -> str:
    last = max((s + 1 for s in steps if s is not None), default=1.0)
    after = any(s is None for s in steps)
    scale = (_WIDTH - _LABEL - 8) / (last + (1.3 if after else 0.0))
    height = _AXIS + _ROW * len(graph.nodes) + 8
    return "".join(
        [
            f'<svg class="waterfall" viewBox="0 0 {_WIDTH} {height}" role="img" '
            'aria-label="The graph of the page">',
            *_grid(last, scale, height),
            *(_line(graph, steps, i, scale) for i in range(len(graph.nodes))),
            *(
                _bar(node, i, _x(steps[i], last, scale), scale)
                for i, node in enumerate(graph.nodes)
            ),
            "</svg>",
        ]
    )


def _x(step: float | None, last: float, scale: float) -> float:
    return _LABEL + (last + 0.2 if step is None else step) * scale


def _grid(last: float, scale: float, height: int) -> Iterator[str]:
    for step in range(int(last) + 1):
        if last - step < _NEAR:
            continue
        x = _LABEL + step * scale
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 4}" y2="{height}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{_AXIS - 10}">{step}</text>'
    x = _LABEL + last * scale
    yield f'<line class="load" x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 4}" y2="{height}"/>'
    yield f'<text class="loadlabel" x="{x - 4:.1f}" y="{_AXIS - 10}">load</text>'


def _line(graph: Graph, steps: Sequence[float | None], index: int, scale: float) -> str:
    """Draw a line to a request from the node that it waits for last."""
    wait = binding(graph, steps, graph.nodes[index])
    start = steps[index]
    if wait is None or start is None:
        return ""
    x = _LABEL + start * scale
    top, bottom = _AXIS + wait.node * _ROW + _ROW / 2, _AXIS + index * _ROW + _ROW / 2
    return f'<line class="wait" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'


def _bar(node: Node, index: int, x: float, scale: float) -> str:
    top = _AXIS + index * _ROW
    waits = ", ".join(str(w.node) if w.bytes is None else f"{w.node}@{w.bytes}" for w in node.waits)
    title = (
        f"{index}: {node.method} {node.url}\n{node.kind}, {node.priority}, found by {node.found}"
    )
    title += f"\nwaits for {waits}" if waits else ""
    more = " more, by a timer" if node.timer else " more"
    title += f"\nand {duration(node.delay_ms)}{more}" if node.delay_ms else ""
    colour = _COLOURS.get(node.kind, _COLOURS["other"])
    faint = "" if node.holds_load else ' fill-opacity="0.45"'
    return (
        f'<g><title>{escape(title)}</title><text class="path" x="4" y="{top + 9}">{index} '
        f"{escape(short_url(node.url, 60))}</text>"
        f'<rect x="{x:.1f}" y="{top + 2}" width="{scale:.1f}" height="{_ROW - 4}" '
        f'fill="{colour}"{faint}/></g>'
    )
