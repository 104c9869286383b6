"""The browsers a stack may be raced in, by generation, and what the old ones cannot do or tell."""

from collections.abc import Mapping
from typing import Literal

Browser = Literal["chromium-headless-shell", "chromium53", "chromium70", "chromium78"]

TODAY: Browser = "chromium-headless-shell"

SPEAKS: Mapping[Browser, tuple[str, ...]] = {
    TODAY: ("h1", "h2", "h3"),
    "chromium53": ("h1", "h2", "spdy"),
    "chromium70": ("h1", "h2", "gquic"),
    "chromium78": ("h1", "h2", "gquic"),
}

GENERATION: Mapping[Browser, str] = {
    TODAY: "today's Chromium",
    "chromium53": "Chromium 53 of August 2016",
    "chromium70": "Chromium 70 of August 2018",
    "chromium78": "Chromium 78 of August 2019",
}

SWITCHED_ON: Mapping[tuple[Browser, str], str] = {
    ("chromium53", "spdy"): "SPDY/3.1 switched on, which is off by default since version 51",
    ("chromium70", "gquic"): "gQUIC forced for every host, in version Q043 and no other",
    ("chromium78", "gquic"): "gQUIC forced for every host, in version Q043 and no other",
}
"""By browser and protocol, what runs that its makers left off by default, or forced."""

NEWEST_TLS: Mapping[Browser, str] = {"chromium53": "1.2"}
"""Where it is not 1.3."""

REFUSES_SILENTLY: frozenset[Browser] = frozenset({"chromium53"})
"""A request to a host whose certificate they refuse looks like one that a script dropped."""
HANDS_OVER_NO_FRAMES: frozenset[Browser] = frozenset({"chromium53"})
KNOWS_TESTBEDS_ONLY: frozenset[Browser] = frozenset({"chromium53"})
"""Their names come from a file of the testbed's hosts and from nowhere else."""

_NO_LCP = "largest contentful paint (Chromium measures it since version 77)"
CANNOT_TELL: Mapping[Browser, tuple[str, ...]] = {
    "chromium53": (
        "the browser's own word on SPDY and HTTP/2 (its DevTools call both spdy)",
        "first contentful paint (Chromium measures it since version 60)",
        _NO_LCP,
    ),
    "chromium70": (_NO_LCP,),
}
"""What a visit cannot know because its browser does not measure it, in words."""
