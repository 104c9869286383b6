"""Writes the markup of a made-up page: a masthead, a lead story, a grid of pictures with
captions."""

import html
import random
from collections.abc import Iterable, Sequence
from importlib.resources import files

import msgspec

MarkupNode = list[object]
"""A request in the page's markup: ``[kind, url, detail, nodes to request afterwards]``, see
loader.js."""

_STYLE = (
    "html{display:flex;flex-direction:column}body{margin:0;order:1}html>section{order:2}"
    "body{font:16px/1.5 sans-serif;color:#222;background:#f6f6f4}"
    "header{background:#1d3557;color:#fff;padding:14px 28px;font-size:22px}"
    "main,html>section{max-width:1240px;margin:auto;padding:16px;display:flex;flex-wrap:wrap;"
    "gap:18px;align-items:flex-start;box-sizing:border-box}"
    "h1{font-size:34px;line-height:1.2;margin:8px 0;width:100%}p{margin:0;max-width:38em}"
    "figure{margin:0;background:#fff;box-shadow:0 1px 3px #0003;max-width:100%}"
    "figcaption{padding:8px 12px;font-size:14px;min-width:120px}img{max-width:100%;height:auto}"
    "iframe{border:1px solid #ccc;max-width:100%}"
    ".g{width:90px;height:30px;background-size:cover}.dot{position:absolute;opacity:0}"
)
_ABOVE = "html>section{order:0}"
_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi wo ka le mi no pu ra se ti vo da".split()
_CAPTION_WORDS, _LEAD_WORDS = 9, 55
_SECTION = 8
"""Number of pictures between two stretches of padding."""


def document(
    title: str,
    items: Sequence[tuple[str, MarkupNode]],
    fonts: Sequence[int],
    styles: Sequence[int],
    *,
    pictures_first: bool = False,
) -> list[str]:
    """Return the pieces of a document that requests `items`, each (``head`` or ``body``, node), in
    order. `fonts` and `styles` are the numbers of the fonts and style sheets below this document.
    The document has text in every font, and a box for each style sheet's pictures. Pictures that
    scripts request stand below the text, or above it with `pictures_first`."""
    head = [_tag(node) for place, node in items if place == "head"]
    body = [node for place, node in items if place == "body"]
    faces = "".join(f".t{n}{{font-family:F{n},sans-serif}}" for n in fonts)
    words = random.Random(title)
    top = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{_STYLE}{_ABOVE if pictures_first else ''}{faces}</style>"
        f"<script>{_loader()}</script>"
    )
    lead, *others = [f'<p class="t{n}">{_words(words, _LEAD_WORDS)}</p>' for n in fonts or [0]]
    boxes = "".join(f'<i class="g g{n}"></i>' for n in styles)
    opening = (
        f"</head><body><header>{html.escape(title[:60])}</header><main>"
        f'<h1 class="t{fonts[0] if fonts else 0}">{_words(words, 7)}</h1>{lead}{boxes}'
    )
    cards = [_card(node, words, fonts, place) for place, node in enumerate(body)]
    sections = ["".join(cards[i : i + _SECTION]) for i in range(0, len(cards), _SECTION)]
    return [top + "".join(head), opening, *sections, f"{''.join(others)}</main></body></html>\n"]


def frame(
    title: str, nodes: Iterable[MarkupNode], fonts: Sequence[int], styles: Sequence[int]
) -> str:
    """Return a document in a frame that requests its nodes by script."""
    text = "".join(f'<p class="t{n}">{html.escape(title[:20])}</p>' for n in fonts or [0])
    faces = "".join(f".t{n}{{font-family:F{n}}}" for n in fonts)
    boxes = "".join(f'<i class="g g{n}"></i>' for n in styles)
    return (
        f"<!doctype html><style>body{{margin:0;background:#e8ecf1}}.dot{{position:absolute}}{faces}"
        f"</style><body>{text}{boxes}<script>{_loader()}{script(list(nodes))}</script>\n"
    )


def script(nodes: Sequence[MarkupNode], busy_ms: float = 0.0, wait_ms: float = 0.0) -> str:
    """Return a script that keeps the browser busy for `busy_ms`, waits for `wait_ms` and then
    requests its nodes."""
    spin = f"for(let e=performance.now()+{busy_ms:.1f};performance.now()<e;);" if busy_ms else ""
    asking = f"ask({_json(nodes)});" if nodes else ""
    return spin + (_later(asking, wait_ms) if asking and wait_ms else asking)


def _later(asking: str, wait_ms: float) -> str:
    """Return a timer. The load event does not wait for one, but for an open document in a frame."""
    gate = (
        'const g=document.createElement("iframe");g.hidden=true;'
        "document.documentElement.append(g);g.contentDocument.open();"
    )
    return f"{{{gate}setTimeout(()=>{{{asking}g.contentDocument.close()}},{wait_ms:.0f})}}"


def style(number: int, images: Sequence[str], fonts: Sequence[tuple[int, str]]) -> str:
    """Return a style sheet that names pictures and fonts. The document has the box and the text
    that use them."""
    faces = "".join(f'@font-face{{font-family:F{n};src:url("{url}")}}' for n, url in fonts)
    pictures = ",".join(f'url("{url}")' for url in images)
    return faces + (f".g{number}{{background-image:{pictures}}}" if images else "")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _loader() -> str:
    text = files("dragstrip.pages.made").joinpath("loader.js").read_text()
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _tag(node: MarkupNode) -> str:
    """Return the HTML element that requests a node; a script if its kind has no element."""
    kind, url, detail, *then = node
    waiting = f" data-then='{html.escape(_json(then[0]))}'" if then else ""
    source = html.escape(str(url))
    if kind == "s":
        return f'<script src="{source}"{" async" * bool(detail)}{waiting}></script>'
    if kind == "c":
        return f'<link rel="stylesheet" href="{source}"{waiting}>'
    if kind in ("i", "d") and isinstance(detail, tuple):
        width, height = detail
        dot = ' class="dot"' if width <= 1 else ""
        name, end = ("img", ' alt=""') if kind == "i" else ("iframe", "")
        closing = "</iframe>" if kind == "d" else ""
        size = f'width="{width}" height="{height}"'
        return f'<{name} src="{source}" {size}{dot}{end}{waiting}>{closing}'
    return f"<script>{script([node])}</script>"


def _card(node: MarkupNode, words: random.Random, fonts: Sequence[int], place: int) -> str:
    tag = _tag(node)
    detail = node[2]
    shown = node[0] == "i" and isinstance(detail, tuple) and detail[0] > 1
    if not shown:
        return tag
    face = f' class="t{fonts[place % len(fonts)]}"' if fonts else ""
    caption = _words(words, _CAPTION_WORDS)
    width = f' style="width:{max(120, detail[0])}px"' if isinstance(detail, tuple) else ""
    return f"<figure{width}>{tag}<figcaption{face}>{caption}</figcaption></figure>"


def _words(draw: random.Random, count: int) -> str:
    made = ("".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(count))
    return " ".join(made).capitalize() + "."
