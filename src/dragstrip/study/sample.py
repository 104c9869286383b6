"""Draws cells from ranges instead of crossing pages and networks: `[sample]` of a study file.

The points are Sobol's sequence, scrambled by the study's seed (Sobol 1967; Owen 1998). The first
points, however many, cover the ranges evenly. So an interrupted study is a smaller sample of all
ranges. More cells continue the same sequence.
"""

from collections.abc import Iterator
from math import ceil, log2

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.units import plain
from dragstrip.pages.generators.synth import MIN_OBJECT_BYTES

Range = tuple[float, float]


class Sample(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Cells drawn from ranges, in place of pages and networks. Values are uniform on a logarithmic
    scale."""

    cells: int
    """Number of cells. A larger number continues the same sequence."""
    down_mbps: Range
    rtt_ms: Range
    """Round trip in ms; half of it is each way."""
    loss: Range
    """Share of packets lost per direction, in cells with loss."""
    queue_ms: Range
    """Depth of each direction's queue in ms."""
    page_bytes: Range
    """Bytes of all objects, in steps of the square root of two: few pages serve many cells."""
    objects: Range
    """Pictures of a page, also in steps of the square root of two."""
    lossless: float = 0.0
    """Share of cells without loss."""
    up_share: float = 1.0
    """Upstream rate, as a share of the downstream rate."""
    per_guest: int = 1
    """Blocks that one guest makes in virtual time, one after another."""

    def __post_init__(self) -> None:
        for name in _FACTORS:
            low, high = getattr(self, name)
            if not 0 < low <= high:
                raise ValueError(f"{name} is a range: two numbers above zero, the smaller first")
        if self.loss[1] > 1 or not 0 <= self.lossless <= 1:
            raise ValueError("loss and lossless are shares between 0 and 1")
        if self.objects[0] < 1:
            raise ValueError("objects: a page has at least one")
        if self.up_share <= 0:
            raise ValueError("up_share is above zero")
        if min(self.cells, self.per_guest) < 1:
            raise ValueError("cells and per_guest are at least 1")


_FACTORS = ("down_mbps", "rtt_ms", "loss", "queue_ms", "page_bytes", "objects")
"""The factors of a cell. Each is one dimension of the sequence, so their order affects the
cells."""


class DrawnCell(Struct, frozen=True, kw_only=True):
    """A cell whose page is not made yet."""

    page: str
    """Name of a synthetic page, such as ``synth:12x3KB``."""
    network: Network


def draw(sample: Sample, seed: int) -> list[DrawnCell]:
    """Return the sample's cells in order. Of equal cells, only the first is kept. Raises
    `InputError`."""
    cells = {f"{d.page} {d.network.name}": d for d in _all(sample, seed)}
    return list(cells.values())


def _all(sample: Sample, seed: int) -> Iterator[DrawnCell]:
    from scipy.stats import qmc  # loads slowly

    points = qmc.Sobol(d=len(_FACTORS), scramble=True, seed=seed)
    for point in points.random_base2(ceil(log2(sample.cells)))[: sample.cells]:
        yield _cell(sample, dict(zip(_FACTORS, map(float, point), strict=True)))


def _cell(sample: Sample, at: dict[str, float]) -> DrawnCell:
    """Return the cell at a point of the unit cube."""
    lossy = (at["loss"] - sample.lossless) / (1 - sample.lossless) if sample.lossless < 1 else -1
    loss = _within(sample.loss, lossy) if lossy >= 0 else 0.0
    down = _within(sample.down_mbps, at["down_mbps"])
    texts = (
        f"{_short(down)}mbit",
        f"{_short(down * sample.up_share)}mbit",
        f"{_short(_within(sample.rtt_ms, at['rtt_ms']) / 2)}ms",
        f"{_short(loss * 100)}%",
        f"{_short(_within(sample.queue_ms, at['queue_ms']))}ms",
    )
    count = max(1, round(_step(_within(sample.objects, at["objects"]))))
    size = round(_step(_within(sample.page_bytes, at["page_bytes"])) / count)
    return DrawnCell(
        page=f"synth:{count}x{max(size, MIN_OBJECT_BYTES)}B",
        network=Network.parse("/".join(texts)),
    )


def _within(limits: Range, share: float) -> float:
    low, high = limits
    return float(low * (high / low) ** share)


def _step(value: float) -> float:
    """Return the nearest power of the square root of two."""
    return float(2 ** (round(2 * log2(value)) / 2))


def _short(value: float) -> str:
    """Write a value with three digits, which keeps names readable."""
    return plain(float(f"{value:.3g}"))


def check_sample(sample: Sample | None, pages: int, networks: int) -> None:
    """Raise `InputError` unless a study has either a sample, or pages and networks."""
    if sample and (pages or networks):
        raise InputError("sample: it draws pages and networks; give no others beside it")
    if not sample and not (pages and networks):
        lacks = "networks" if pages else "pages"
        raise InputError(f"{lacks}: name at least one, or give a [sample] instead")
