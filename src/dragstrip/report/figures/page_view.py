"""Draws a page: one HTML file with its recorded waterfall, initiator tree and replays."""

import base64
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import urlsplit

from markupsafe import Markup

from dragstrip.model.page import Page, Resource
from dragstrip.pages.format.archive import read_screenshot
from dragstrip.pages.show import summarise
from dragstrip.pages.tree import TreeResource, depths, initiator_tree, walk
from dragstrip.report.site.templating import environment
from dragstrip.report.words.numbers import counted, duration, percent, size
from dragstrip.verdict.page_check import Check

_WIDTH, _LABEL, _ROW, _AXIS = 1000, 330, 12, 22
_COLOURS = {"html": "#33479e", "css": "#7b4fa3", "script": "#c05a00", "font": "#8a6d00"}
_COLOURS |= {"image": "#1a9c86", "other": "#8b8f98"}


def draw(page: Page, checks: Sequence[Check]) -> str:
    """Draw the page as a file's text. Everything that comes from the page is escaped."""
    made = environment()
    roots = initiator_tree(page)
    made.globals.update(size=size, percent=percent, duration=duration, counted=counted)
    return made.get_template("page.html.j2").render(
        page=page,
        facts=summarise(page),
        depths=depths(roots),
        tree=Markup(_tree(roots)),
        waterfall=Markup(_waterfall(page)) if timed(page) else None,
        colours=_COLOURS,
        checks=checks,
        recorded=_picture(read_screenshot(page) or b""),
        replayed=[(c.protocol, _picture(c.screenshot)) for c in checks],
    )


def timed(page: Page) -> bool:
    """Return whether the recording has request times."""
    return any(r.time_ms for r in page.resources)


def kind(resource: Resource) -> str:
    """Return the resource's kind, which has a colour, by media type."""
    major, _, minor = resource.mime.partition("/")
    if major in ("image", "font"):
        return major
    known = {"html": "html", "css": "css", "javascript": "script", "x-javascript": "script"}
    return "font" if "font" in minor else known.get(minor, "other")


def _tree(roots: Sequence[TreeResource]) -> str:
    parts = []
    for node in walk(list(roots)):
        r = node.resource
        parts.append(
            f'<li style="margin-left:{node.depth * 22}px" title="{escape(r.url)}">'
            f'<i style="background:{_COLOURS[kind(r)]}"></i>{escape(short_url(r.url, 90))} '
            f"<small>{r.status} · {size(r.body_bytes)}</small></li>"
        )
    return f'<ul class="tree">{"".join(parts)}</ul>'


def _waterfall(page: Page) -> str:
    until = max(r.start_ms + r.time_ms for r in page.resources) * 1.02
    scale = (_WIDTH - _LABEL) / until
    height = _AXIS + _ROW * len(page.resources) + 6
    return "".join(
        [
            f'<svg class="waterfall" viewBox="0 0 {_WIDTH} {height}" role="img" '
            'aria-label="Waterfall as recorded">',
            *_marks(page, until, scale, height),
            *(_bar(r, _AXIS + i * _ROW, scale) for i, r in enumerate(page.resources)),
            "</svg>",
        ]
    )


def _marks(page: Page, until: float, scale: float, height: int) -> Iterator[str]:
    for i in range(6):
        x = _LABEL + i * until / 6 * scale
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 4}" y2="{height}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{_AXIS - 9}">{duration(i * until / 6)}</text>'
    if page.load_ms is not None:
        x = _LABEL + page.load_ms * scale
        yield f'<line class="load" x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 4}" y2="{height}"/>'
        yield f'<text class="loadlabel" x="{x - 4:.1f}" y="{height - 2}">load</text>'


def _bar(resource: Resource, top: int, scale: float) -> str:
    x, width = _LABEL + resource.start_ms * scale, max(resource.time_ms * scale, 1.0)
    title = escape(f"{resource.method} {resource.url}\n{resource.status}, {resource.mime}")
    return (
        f'<g><title>{title}</title><text class="path" x="4" y="{top + 9}">'
        f"{escape(short_url(resource.url, 58))}</text>"
        f'<rect x="{x:.1f}" y="{top + 2}" width="{width:.1f}" height="{_ROW - 4}" '
        f'fill="{_COLOURS[kind(resource)]}"/></g>'
    )


def short_url(url: str, room: int) -> str:
    """Shorten a URL to host and end of the path, which are its most distinctive parts."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    left = max(12, room - len(parts.netloc))
    return parts.netloc + (path if len(path) <= left else "\N{HORIZONTAL ELLIPSIS}" + path[-left:])


def _picture(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}" if png else ""
