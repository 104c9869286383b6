"""The picture of a discipline."""

import re

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.league.picture import WIDTH, drawing
from dragstrip.league.standings import Standing


def standing(name: str, ratio: float) -> Standing:
    return Standing(name=name, best=1, worst=2, value=1000 * ratio, ratio=ratio)


@given(st.lists(st.floats(1, 16), min_size=1, max_size=6))
def test_every_mark_lies_between_labels_of_the_axis(ratios):
    svg = drawing([standing(f"s{n}", ratio) for n, ratio in enumerate(sorted(ratios))])
    labels = [float(x) for x in re.findall(r'class="middle" x="([\d.]+)" y="\d+">[\d.]+<', svg)]
    marks = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)]
    assert min(labels) <= min(marks) + 0.1
    assert max(marks) <= max(labels) + 0.1


def test_the_longest_name_has_room_and_the_axis_keeps_what_is_left():
    for name in ("h3", "a-server-with-a-very-long-name-h3"):
        svg = drawing([standing(name, 1.0), standing("h2", 1.2)])
        (end,) = {float(x) for x in re.findall(r'class="right" x="([\d.]+)"', svg)}
        assert end >= 7 * len(name)
        first, *_ = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg))
        (ranks,) = {float(x) for x in re.findall(r'class="soft" x="([\d.]+)"', svg)}
        assert end < first < ranks


def test_the_longest_rank_has_room():
    far = structs.replace(standing("far", 15.5), best=6, worst=10)
    svg = drawing([standing("h3", 1.0), far])
    (ranks,) = {float(x) for x in re.findall(r'class="soft" x="([\d.]+)"', svg)}
    assert WIDTH - ranks >= 8 * len("rank 6 to 10, 15.500")
