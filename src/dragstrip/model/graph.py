"""A page's graph: which request waits for what, as a load generator follows it.

A node starts when everything it waits for has arrived and the time of computing or of a timer has
passed. A style sheet's images wait for the sheet. A script's requests wait for the script, for the
parser to reach it, and for the style sheets and scripts before it.
"""

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.page import DIGEST_DIGITS

RequestCause = Literal["start", "redirect", "markup", "style", "script", "load"]
"""The cause of a request: the visit's start; a redirect; the parser or the preload scanner; a style
sheet; a script; anything that runs once the page has loaded."""

LOAD = -1
"""Stands for the load event in a wait, which otherwise names a node."""


class Wait(Struct, frozen=True, omit_defaults=True):
    node: int
    """Index of the node, or `LOAD`."""
    bytes: int | None = None
    """Bytes of the node's body, on the wire, that must have arrived; None means all."""


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. Other nodes refer to a node by its index in the list."""

    url: str
    method: str = "GET"
    kind: str = ""
    """CDP resource type: Document, Stylesheet, Script, Image, Font, XHR, Fetch, Other ..."""
    priority: str = ""
    """CDP's priority: VeryLow, Low, Medium, High, VeryHigh."""
    found: RequestCause
    initiator: int | None = None
    """Index of the earlier node that caused this one."""
    waits: tuple[Wait, ...] = ()
    """Conditions that must all be met before the node starts. Each names an earlier node, or
    `LOAD`."""
    delay_ms: float = 0.0
    """Time in ms from the last of these waits to the request, for computing and timers."""
    timer: bool = False
    """Whether `delay_ms` is a script's timer. The page may load while a timer runs."""
    holds_load: bool = True
    """Whether the load event waits for the node's end, if the node started before that event."""
    upload_bytes: int = 0
    """Bytes of the request's body."""
    credentials: bool = True
    """Whether the request is sent with credentials. A browser keeps requests without credentials on
    separate connections."""


class Graph(Struct, frozen=True, kw_only=True):
    nodes: tuple[Node, ...]
    """All requests. A visit starts with the first one."""
    learned: bool
    """Whether the graph was learned from a browser's visits; otherwise it was made from the
    recording."""
    source: str
    """The data from which the graph was made, in words."""
    parsed: tuple[Wait, ...] = ()
    """When these waits are over, the document is parsed and its deferred scripts have run:
    DOMContentLoaded."""
    body: tuple[Wait, ...] = ()
    """When these waits are over, the parser has reached the document's body. Until then a browser
    holds back non-urgent requests."""
    load_delay_ms: float = 0.0
    """Time in ms from the end of the last node that holds the load event to the end of that
    event."""

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
        """Index of the document at which a visit ends: the first node, or the end of its
        redirects."""
        last = 0
        for index, node in enumerate(self.nodes):
            if node.found == "redirect" and node.initiator == last:
                last = index
        return last

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the graph's nodes and delays, without its
        source."""
        fields = msgspec.to_builtins(self)
        del fields["source"]
        text = msgspec.json.encode(fields, order="sorted")
        return hashlib.sha256(text).hexdigest()[:DIGEST_DIGITS]
