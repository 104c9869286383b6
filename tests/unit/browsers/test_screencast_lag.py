"""Periods in which frames may be lost, found from the times of drawing and acknowledging."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made
from dragstrip.browsers.cdp import Event
from dragstrip.browsers.screencast import INTERVAL_MS, Sight, blind_ms
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visual
from dragstrip.verdict.picture import watched


def sights(*drawn_and_taken_ms: tuple[float, float]) -> list[Sight]:
    return [
        Sight(Event("Page.screencastFrame", {"metadata": {"timestamp": a / 1000}}, ""), b / 1000)
        for a, b in drawn_and_taken_ms
    ]


def blind(*drawn_and_taken_ms: tuple[float, float], until_ms: float = 9000) -> float:
    return blind_ms(sights(*drawn_and_taken_ms), 0.0, until_ms / 1000)


def test_one_slow_frame_hides_nothing():
    assert blind((100, 900)) == 0
    assert blind((100, 900), (1000, 1010)) == 0


def test_the_third_frame_is_lost_while_two_are_under_way():
    assert blind((100, 300), (200, 310)) == pytest.approx(100 - INTERVAL_MS)


def test_frames_taken_within_a_display_interval_hide_nothing():
    assert blind(*((t, t + 16) for t in range(0, 500, 17))) == 0


def test_only_the_visit_itself_matters():
    before = (-400, 50), (-300, 60)
    assert blind(*before) == pytest.approx(50)
    assert blind((100, 300), (200, 310), until_ms=230) == pytest.approx(30 - INTERVAL_MS)


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 500)), max_size=20))
def test_order_of_arrival_does_not_matter_and_no_span_outlasts_the_slowest_frame(found):
    pairs = [(drawn, drawn + lag) for drawn, lag in found]
    assert blind(*pairs) == pytest.approx(blind(*pairs[::-1]))
    assert 0 <= blind(*pairs) <= max((lag for _, lag in found), default=0)


def test_a_visit_that_may_lack_frames_is_overloaded():
    def visit(ms: float | None):
        return made.visit(visual=Visual(frames=1, blind_ms=ms))

    limits = Thresholds()
    assert not list(watched(visit(None), limits))
    assert not list(watched(visit(limits.blind_ms), limits))
    (reason,) = watched(visit(limits.blind_ms + 1), limits)
    assert (reason.code, "51 ms" in reason.detail) == ("overloaded", True)
    assert not list(watched(made.visit(), limits))
