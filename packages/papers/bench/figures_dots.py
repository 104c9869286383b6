"""What papers published as numbers, and what each way of running them found."""

import re
from collections.abc import Iterator, Sequence

import altair as alt

from dragstrip_papers.overall.given import Way
from dragstrip_papers.overall.rows import Row as Answered
from dragstrip_papers.report.style import Figure, Row, data, figure

WAYS: dict[Way, tuple[str, str]] = {
    "native": ("Google QUIC, Chromium 70", "#c05a00"),
    "browser": ("today, real time", "#33499a"),
    "virtual": ("today, virtual time", "#1f9e89"),
    "loader": ("load generator", "#7a4fa3"),
}
_FAR = 1e3
_WIDEST = 6.5
"""px of the mean letter at 11 px, in the widest of the fonts that may stand for ours."""
_NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?"
_PUBLISHED = re.compile(rf"(?:gain |share (?:≥ )?)?({_NUMBER})( RTT| \(\d+ of \d+\))?$")
_TOLERANCE = re.compile(rf"± ({_NUMBER})")
_OURS = re.compile(rf"(?:^|.*?, share )({_NUMBER})(?: RTT)? \[(-?inf|{_NUMBER}), (inf|{_NUMBER})\]")


def dots(
    answered: Sequence[Answered],
    name: str,
    title: str,
    axis: str,
    ends: tuple[float, float],
    wording: tuple[str, str],
) -> Figure:
    """Claims with one number each. A number beyond the axis' `ends` is drawn at its end. `wording`
    is a pattern, and the label of a claim that fits it."""
    rows = [row for claim in answered for row in _rows(claim, wording)]
    labels = list(dict.fromkeys(row["claim"] for row in rows))
    scale = alt.Scale(domain=list(ends), clamp=True)
    x = alt.X("value:Q", title=axis, scale=scale)
    room = round(_WIDEST * max(map(len, labels)))
    side = alt.Axis(grid=False, labelLimit=420, minExtent=room)
    y = alt.Y("claim:N", sort=labels, title=None, axis=side)
    theirs = alt.Chart(data([row for row in rows if not row["way"]])).encode(y=y)
    band = theirs.mark_bar(color="#e3e5ea").encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    tick = theirs.mark_tick(color="#1d2129", thickness=2.5).encode(x=x)
    seen = {row["way"] for row in rows}
    shown = {said: colour for said, colour in WAYS.values() if said in seen}
    tint = alt.Scale(domain=list(shown), range=list(shown.values()))
    mine = alt.Chart(data([row for row in rows if row["way"]])).encode(
        y=y,
        yOffset=alt.YOffset("way:N", sort=list(shown)),
        color=alt.Color("way:N", title=None, scale=tint, legend=alt.Legend(orient="top")),
    )
    dot = mine.mark_point(filled=True, size=42).encode(x=x)
    interval = mine.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    layers = [band, interval, dot, tick]
    if ends[0] < 0 < ends[1]:
        zero = alt.Chart(data([{}])).mark_rule(color="#9aa0ab", strokeDash=[3, 3])
        layers.insert(1, zero.encode(x=alt.XDatum(0)))
    return figure(
        name,
        title,
        "Black: published, with what the claim allows in grey. Dots: ours, with 95 % intervals; "
        "beyond the axis they are drawn at its end.",
        alt.layer(*layers).properties(width=520, height=alt.Step(26, **{"for": "position"})),
        rows,
    )


def _rows(claim: Answered, wording: tuple[str, str]) -> Iterator[Row]:
    published, allowed = _PUBLISHED.match(claim.published), _TOLERANCE.match(claim.tolerance)
    if not published or not allowed:
        return
    label = {"claim": re.sub(*wording, claim.says)}
    value, reach = float(published[1]), float(allowed[1])
    high = float("inf") if "≥" in claim.published else value + reach
    yield label | _drawable("", value, value - reach, high)
    for way, (said, _) in WAYS.items():
        if way in claim.sources and (found := _OURS.match(claim.sources[way].ours)):
            yield label | _drawable(said, *(float(number) for number in found.groups()))


def _drawable(way: str, *numbers: float) -> Row:
    """Infinities become numbers far beyond any axis, for JSON has none."""
    value, low, high = (max(-_FAR, min(_FAR, number)) for number in numbers)
    return {"way": way, "value": value, "low": low, "high": high}
