"""Finds the visit that looked least like its stack's typical visit.

wolsing2019 (section 3.2) found faults of its recordings by reviewing such visits.
"""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.visit import Visit, Visual

FEWEST = 3
"""Fewest visits among which one can be an outlier."""


class Outlier(Struct, frozen=True):
    typical: Visit
    visit: Visit
    apart_ms: float
    """Area between the visit's curve of visual progress and the typical one, in ms; see the
    function `apart_ms`."""


def outlier(typical: Visit, visits: Sequence[Visit]) -> Outlier | None:
    """Return the outlier among the visits of one stack; None if there are too few visits or no
    frames."""
    seen = [(v, v.visual) for v in visits if v.visual and v.id != typical.id]
    if typical.visual is None or len(seen) + 1 < FEWEST:
        return None
    distance_ms, _, furthest = max(
        (apart_ms(typical.visual, visual), v.id, v) for v, visual in seen
    )
    return Outlier(typical, furthest, distance_ms)


def apart_ms(a: Visual, b: Visual) -> float:
    """Return the area between two curves of visual progress, in ms.

    If the curves do not cross, the area is the difference of the two SpeedIndex values, otherwise
    more.
    """
    curves = dict(a.progress), dict(b.progress)
    times = sorted({0.0, *curves[0], *curves[1]})
    levels, area = [0.0, 0.0], 0.0
    for now, after in zip(times, [*times[1:], times[-1]], strict=True):
        levels = [curve.get(now, level) for curve, level in zip(curves, levels, strict=True)]
        area += abs(levels[0] - levels[1]) * (after - now)
    return area
