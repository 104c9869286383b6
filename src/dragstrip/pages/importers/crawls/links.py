"""Finds an HTML document's links, frames and title by patterns, in time linear in its length."""

import html
import re

from msgspec import Struct

from dragstrip.pages.format.urls import absolute

_TAG = re.compile(
    r"<(a|area|iframe|frame|embed|object|base)\s([^<>]{1,8000})>|<title[^<>]{0,200}>([^<]{1,400})",
    re.IGNORECASE,
)
_URL = re.compile(
    r"""(?:^|\s)(href|src|data)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE
)
_MOVES = re.compile(
    r"""\blocation(?:\.href)?\s{0,9}=\s{0,9}["']([^"'<>]{1,2000})["']"""
    r"""|<meta\s[^<>]{0,300}?\burl\s{0,9}=\s{0,9}["']?([^"'<>\s]{1,2000})""",
    re.IGNORECASE,
)
_FRAMES = ("iframe", "frame", "embed", "object")


class Links(Struct, frozen=True, kw_only=True):
    """The links of a document, as absolute URLs without fragments."""

    linked: frozenset[str] = frozenset()
    framed: frozenset[str] = frozenset()
    """URLs of frames, and URLs to which the document navigates by itself."""
    title: str = ""


def links(text: str, url: str) -> Links:
    """Return the links of the document at `url`."""
    linked: set[str] = set()
    framed: set[str] = set()
    base, title = url, ""
    for tag, attributes, named in _TAG.findall(text):
        if named:
            title = title or " ".join(html.unescape(named).split())
            continue
        for _, *values in _URL.findall(attributes):
            target = _joined(base, "".join(values))
            if tag.lower() == "base":
                base = target or base
            elif target:
                (framed if tag.lower() in _FRAMES else linked).add(target)
    for by_script, by_markup in _MOVES.findall(text):
        framed.add(_joined(base, by_script or by_markup))
    return Links(linked=frozenset(linked), framed=frozenset(framed), title=title[:200])


def _joined(base: str, written: str) -> str:
    """Return the absolute URL; empty if it is not an http(s) URL."""
    found = absolute(base, html.unescape(written).strip())
    return found if found.startswith(("http:", "https:")) else ""
