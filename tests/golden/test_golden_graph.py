"""The drawing of a graph, line by line."""

import os
from pathlib import Path
from xml.etree import ElementTree

from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.page import Page
from dragstrip.report.figures.graph import draw_graph, places

GOLDEN = Path(__file__).with_name("graph.svg")
URL = "https://a.test/"
GRAPH = Graph(
    nodes=(
        Node(url=URL, kind="Document", priority="VeryHigh", found="start"),
        Node(
            url=f"{URL}a.css",
            kind="Stylesheet",
            priority="VeryHigh",
            found="markup",
            initiator=0,
            waits=(Wait(0, 500),),
        ),
        Node(
            url=f"{URL}a.js?x=<1>",
            kind="Script",
            priority="High",
            found="markup",
            initiator=0,
            waits=(Wait(0, 1000),),
        ),
        Node(
            url=f"{URL}bg.png",
            kind="Image",
            priority="Low",
            found="style",
            initiator=1,
            waits=(Wait(0, 1000), Wait(1), Wait(2)),
        ),
        Node(
            url=f"{URL}data.json",
            kind="Fetch",
            priority="High",
            found="script",
            initiator=2,
            waits=(Wait(2),),
            delay_ms=120.0,
            holds_load=False,
        ),
        Node(
            url=f"{URL}beacon",
            method="POST",
            kind="Ping",
            found="load",
            initiator=2,
            waits=(Wait(LOAD),),
            holds_load=False,
        ),
    ),
    learned=True,
    source="2 visits in a browser",
)


def drawn() -> str:
    page = Page(name="p", path=Path(), url=URL, resources=(), source="", digest="0" * 12)
    html = draw_graph(page, GRAPH)
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    return svg.replace("><", ">\n<") + "\n"


def test_the_drawing_is_as_it_was() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(drawn())
    assert drawn() == GOLDEN.read_text()
    ElementTree.fromstring(drawn())


def test_requests_stand_where_their_waits_put_them() -> None:
    steps = places(GRAPH)
    assert steps[0] == 0
    assert 0 < steps[1] < steps[2] < 1
    assert steps[3] == steps[2] + 1 == steps[4]
    assert steps[5] is None
