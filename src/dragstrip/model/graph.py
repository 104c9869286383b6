"""A page's graph: which request waits for what, as a load generator follows it.

A node starts when all it waits for is there, plus the time that computing or a timer takes. So a
style sheet's images wait for the sheet; what a script asks for waits for the script, for the parser
to reach it, and for the style sheets and scripts before it.
"""

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.page import DIGEST_DIGITS

RequestCause = Literal["start", "redirect", "markup", "style", "script", "load"]
"""How a request came about: the visit's start; a redirect; the parser or the preload scanner; a
style sheet; a script; anything that runs once the page has loaded."""

LOAD = -1
"""The load event, where a wait names a node."""


class Wait(Struct, frozen=True, omit_defaults=True):
    node: int
    """Index of the node, or `LOAD`."""
    bytes: int | None = None
    """How much of its body, as it crosses the wire, is enough; None means its end."""


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. Its place in the list is its identity."""

    url: str
    method: str = "GET"
    kind: str = ""
    """CDP resource type: Document, Stylesheet, Script, Image, Font, XHR, Fetch, Other ..."""
    priority: str = ""
    """CDP's: VeryLow, Low, Medium, High, VeryHigh."""
    found: RequestCause
    initiator: int | None = None
    """The earlier node that caused it."""
    waits: tuple[Wait, ...] = ()
    """Waits that must all be over before it starts. Each names an earlier node, or `LOAD`."""
    delay_ms: float = 0.0
    """Time from the last of these waits to the request: computing and timers."""
    timer: bool = False
    """`delay_ms` is a script's timer: the page may load while it runs."""
    holds_load: bool = True
    """The load event waits for its end if it is under way before that event."""
    upload_bytes: int = 0
    """Bytes of the request's body."""
    credentials: bool = True
    """Whether it is sent with credentials. A browser keeps other requests on separate
    connections."""


class Graph(Struct, frozen=True, kw_only=True):
    nodes: tuple[Node, ...]
    """The first one is where the visit starts."""
    learned: bool
    """Whether visits of a browser gave the graph; otherwise the recording did."""
    source: str
    """Description of what the graph was made from."""
    parsed: tuple[Wait, ...] = ()
    """The document is parsed and its deferred scripts have run when all of this is there:
    DOMContentLoaded."""
    body: tuple[Wait, ...] = ()
    """The parser has reached the document's body. Until then a browser holds back what is not
    urgent."""
    load_delay_ms: float = 0.0
    """Time from the end of the last node that holds the load event to the end of that event."""

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            named = (node.initiator, *(w.node for w in node.waits))
            if any(before is not None and before >= index for before in named):
                raise ValueError(
                    f"node {index} of the graph, {node.url}, follows from itself or from a later "
                    "one; import the page again, and learn its graph anew"
                )

    @property
    def document(self) -> int:
        """Index of the document that a visit ends at: the start, or what that redirects to."""
        last = 0
        for index, node in enumerate(self.nodes):
            if node.found == "redirect" and node.initiator == last:
                last = index
        return last

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of its nodes and delays, whatever its source says."""
        fields = msgspec.to_builtins(self)
        del fields["source"]
        text = msgspec.json.encode(fields, order="sorted")
        return hashlib.sha256(text).hexdigest()[:DIGEST_DIGITS]
