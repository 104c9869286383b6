"""Makes a stand-in for a site: the structure of a page with given numbers of objects, bytes and
hosts."""

import random

from msgspec import Struct, structs

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
_LEAD_BOX = (1_200, 520)
"""Width and height in CSS pixels of a lead picture."""
_BYTES_TO_ASK = 40
"""Bytes in a script for each picture that it requests, compressed."""


class LeadPicture(Struct, frozen=True, kw_only=True):
    """What stands between the document and the largest picture that is seen first."""

    share: float
    """Share of the page's bytes in this picture."""
    scripts: int
    """Number of scripts, each requested by the one before, of which the last requests all pictures;
    at least 1."""
    wait_ms: int = 0
    """Time that the last script waits before it requests them."""


def standin(
    name: str, *, objects: int, size: int, hosts: int, source: str, lead: LeadPicture | None = None
) -> Structure:
    """Return a structure of `objects` requests, including the document, with `size` bytes in all,
    on `hosts` hosts.

    Every host serves at least one object; the document's host serves most style sheets. Scripts
    request some of the scripts, fetches and pictures, and style sheets request the fonts. The name
    is the random seed. With `lead` all pictures come behind its scripts. Raises `PageError` if
    there are more hosts than objects, or more such scripts than the page has.
    """
    if not 1 <= hosts <= objects:
        raise PageError(f"{name}: {objects} objects cannot come from {hosts} hosts")
    draw = random.Random(name)
    rows = _rows(objects - 1, draw, lead.scripts if lead else 0)
    weights = [_DOCUMENT_WEIGHT, *(w * draw.lognormvariate(0, _SPREAD) for _, _, w in rows)]
    floors = [2_500, *(_LEAST_BYTES[kind] for kind, _, _ in rows)]
    if lead:
        first, chain = _places(name, rows, lead)
        floors[chain[-1]] += _BYTES_TO_ASK * sum(kind == "image" for kind, _, _ in rows)
        sizes = _led(weights, floors, size, first, round(size * lead.share))
    else:
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
    if lead:
        made = _chained(made, first, chain, lead.wait_ms)
    return Structure(
        name=name,
        title=name,
        source=source,
        objects=tuple(made),
        pictures_first=lead is not None,
    )


def _places(
    name: str, rows: list[tuple[ResourceKind, str, float]], lead: LeadPicture
) -> tuple[int, list[int]]:
    """Return the index of the lead picture, and of the scripts before it."""
    kinds = [kind for kind, _, _ in rows]
    scripts = [i for i, kind in enumerate(kinds, 1) if kind == "script"]
    if not 1 <= lead.scripts <= len(scripts) or "image" not in kinds:
        raise PageError(
            f"{name}: of {len(rows) + 1} objects none is a picture behind {lead.scripts} scripts; "
            f"it can have 1 to {len(scripts)}"
        )
    return kinds.index("image") + 1, scripts[: lead.scripts]


def _led(weights: list[float], floors: list[int], total: int, first: int, lead: int) -> list[int]:
    """Return sizes that sum to `total`, of which the picture `first` has `lead`."""
    others = [i for i in range(len(weights)) if i != first]
    rest = _sizes([weights[i] for i in others], [floors[i] for i in others], total - lead)
    return [*rest[:first], lead, *rest[first:]]


def _chained(made: list[Object], first: int, chain: list[int], wait_ms: int) -> list[Object]:
    """Return the objects with the scripts of `chain` one behind the other and all pictures behind
    the last. The picture `first` fills most of a window."""
    last = chain[-1]
    causes = dict(zip(chain, [0, *chain], strict=False))
    causes |= {i: last for i, o in enumerate(made) if o.kind == "image"}
    made = [
        structs.replace(o, parent=causes[i], initiator=causes[i]) if i in causes else o
        for i, o in enumerate(made)
    ]
    made[first] = structs.replace(made[first], content_type="image/jpeg", box=_LEAD_BOX)
    made[last] = structs.replace(made[last], wait_ms=wait_ms)
    return made


def _rows(
    count: int, draw: random.Random, scripts_first: int
) -> list[tuple[ResourceKind, str, float]]:
    """Return kind, type and relative size of each object. Blocking objects come first, as on real
    pages, and at least `scripts_first` scripts."""
    wanted = [(kind, mime, weight, share * count) for kind, mime, share, weight in _SHARES]
    rows: list[tuple[ResourceKind, str, float]] = []
    for kind, mime, weight, number in wanted:
        rows += [(kind, mime, weight)] * int(number)
    rows += [("image", "image/jpeg", 1.2)] * (count - len(rows))
    first = [r for r in rows if r[0] == "style"]
    rest = [r for r in rows if r[0] != "style"]
    draw.shuffle(rest)
    scripts = [r for r in rest if r[0] == "script"]
    early = scripts[: max(len(scripts) // 2, scripts_first)]
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
