"""Bars and maps of ratios: what they say of cells with many loads, and with too few."""

from dragstrip.study.presets import find_stack
from dragstrip_papers.report.ratios import bars, ratio_map
from made_loads import cell, evidence

TCP, QUIC = find_stack("h2"), find_stack("h3")


def loads(quic_ms: float, blocks: int):
    times = {"h2": 100.0, "h3": quic_ms}
    return evidence(cell(times, page="synth-2x1KB", blocks=blocks, spread=0.001)).loads


def standing(quic_ms: float, blocks: int) -> str:
    drawn = ratio_map(loads(quic_ms, blocks), TCP, QUIC, "plt_ms", "map", "title")
    return drawn.rows[0]["standing"]


def test_a_map_tells_a_difference_from_none_and_from_too_few_loads():
    assert standing(80, blocks=5) == "h3 faster"
    assert standing(125, blocks=5) == "h2 faster"
    assert standing(100, blocks=5) == "the same within 5 %"
    assert standing(80, blocks=1) == "h3 ahead in too few loads"
    assert standing(125, blocks=4) == "h2 ahead in too few loads"


def test_bars_of_too_few_loads_are_pale_and_have_no_interval():
    drawn = bars(loads(80, blocks=1), TCP, QUIC, "plt_ms")
    assert drawn.rows[0]["low"] is None
    assert round(drawn.rows[0]["ratio"], 2) == 0.8
    assert "h3 ahead in too few loads" in drawn._repr_svg_()
    assert "too few" not in bars(loads(80, blocks=5), TCP, QUIC, "plt_ms")._repr_svg_()
