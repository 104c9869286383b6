"""Makes a stand-in for a site: the structure of a page with given numbers of objects, bytes and
hosts."""

import random

from dragstrip.pages.format.recording import PageError
from dragstrip.pages.format.structure import Object, ResourceKind, Structure

_SHARES: tuple[tuple[ResourceKind, str, float, float], ...] = (
    ("style", "text/css", 0.06, 1.0),
    ("script", "text/javascript", 0.24, 1.6),
    ("font", "font/woff2", 0.03, 1.5),
    ("fetch", "application/json", 0.07, 0.3),
    ("image", "image/jpeg", 0.36, 1.2),
    ("image", "image/png", 0.12, 0.6),
    ("image", "image/gif", 0.12, 0.02),
)
"""Kind, type, share of the objects, and weight of one object relative to the mean. The values are
our choice, close to the figures of public Web archives."""
_DOCUMENT_WEIGHT = 1.5
_SPREAD = 0.8
"""Standard deviation of the logarithm of sizes within a kind."""
_LEAST_BYTES = {"style": 400, "script": 400, "font": 7_000, "fetch": 60, "image": 43}
_EARLY = 0.6
"""Share of the objects named by the document itself, among those that scripts could request."""


def standin(name: str, *, objects: int, size: int, hosts: int, source: str) -> Structure:
    """Return a structure of `objects` requests, including the document, with `size` bytes in all,
    on `hosts` hosts.

    Every host serves at least one object; the document's host serves most style sheets. Scripts
    request some of the scripts, fetches and pictures, and style sheets request the fonts. The name
    is the random seed. Raises `PageError` if there are more hosts than objects.
    """
    if not 1 <= hosts <= objects:
        raise PageError(f"{name}: {objects} objects cannot come from {hosts} hosts")
    draw = random.Random(name)
    rows = _rows(objects - 1, draw)
    weights = [_DOCUMENT_WEIGHT, *(w * draw.lognormvariate(0, _SPREAD) for _, _, w in rows)]
    floors = [2_500, *(_LEAST_BYTES[kind] for kind, _, _ in rows)]
    sizes = _sizes(weights, floors, size)
    names = [f"www.{name}.test", *(f"s{i}.{name}.test" for i in range(2, hosts + 1))]
    made = [
        Object(url=f"https://{names[0]}/", kind="document", size=sizes[0], content_type="text/html")
    ]
    for index, (kind, mime, _) in enumerate(rows, start=1):
        # The first objects get one host each, so that no host is left out.
        host = names[index] if index < hosts else _host(names, kind, draw)
        parent = _parent(made, kind, draw)
        made.append(
            Object(
                url=f"https://{host}/{index:03}.{mime.partition('/')[2]}",
                kind=kind,
                size=sizes[index],
                content_type=mime,
                parent=parent,
                initiator=parent,
                blocking=host == names[0],
            )
        )
    return Structure(name=name, title=name, source=source, objects=tuple(made))


def _rows(count: int, draw: random.Random) -> list[tuple[ResourceKind, str, float]]:
    """Return kind, type and relative size of each object. Blocking objects come first, as on real
    pages."""
    wanted = [(kind, mime, weight, share * count) for kind, mime, share, weight in _SHARES]
    rows: list[tuple[ResourceKind, str, float]] = []
    for kind, mime, weight, number in wanted:
        rows += [(kind, mime, weight)] * int(number)
    rows += [("image", "image/jpeg", 1.2)] * (count - len(rows))
    first = [r for r in rows if r[0] == "style"]
    rest = [r for r in rows if r[0] != "style"]
    draw.shuffle(rest)
    scripts = [r for r in rest if r[0] == "script"]
    early = scripts[: len(scripts) // 2]
    for row in early:
        rest.remove(row)
    return first + early + rest


def _sizes(weights: list[float], floors: list[int], total: int) -> list[int]:
    """Divide `total` by weight into sizes that are not below their floors and that sum to exactly
    `total`."""
    fixed: set[int] = set()
    while True:
        free = total - sum(floors[i] for i in fixed)
        scale = max(0, free) / sum(w for i, w in enumerate(weights) if i not in fixed)
        below = {i for i, w in enumerate(weights) if i not in fixed and w * scale < floors[i]}
        if not below or len(fixed | below) == len(weights):
            break
        fixed |= below
    sizes = [f if i in fixed else round(weights[i] * scale) for i, f in enumerate(floors)]
    sizes[sizes.index(max(sizes))] += total - sum(sizes)
    if min(sizes) < 1:
        raise PageError(f"{total} bytes are too few for {len(floors)} objects")
    return sizes


def _host(names: list[str], kind: ResourceKind, draw: random.Random) -> str:
    own = draw.random() < (0.8 if kind == "style" else 0.35)
    return names[0] if own else draw.choice(names)


def _parent(made: list[Object], kind: ResourceKind, draw: random.Random) -> int:
    """Return the index of the parent of a new object: the document, or for some kinds a script or
    style sheet."""
    asking = "style" if kind == "font" else "script"
    able = [i for i, o in enumerate(made) if o.kind == asking]
    alone = kind == "style" or (kind not in ("font", "fetch") and draw.random() < _EARLY)
    return 0 if alone or not able else draw.choice(able)
