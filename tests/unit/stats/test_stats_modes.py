import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.modes import ENOUGH, Mode, modes

times = st.floats(min_value=1, max_value=1e6)


def test_paints_that_missed_a_frame_are_a_mode() -> None:
    early, late = [1200.0] * 8 + [1216.0], [2840.0, 2840.0, 2856.0]
    assert modes([*late, *early]) == (Mode(9, 1200.0), Mode(3, 2840.0))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1200.0] * 11 + [2840.0], "one load alone is an outlier"),
        ([1200.0] * 4 + [2840.0] * 3, "seven loads are too few"),
        ([300.0] * 6 + [316.0] * 6, "one frame apart is no difference"),
        ([float(v) for v in range(100, 1300, 100)], "evenly spread loads have no gap"),
        ([700.0] * 12, "equal loads have no gap"),
    ],
)
def test_one_mode(values: list[float], why: str) -> None:
    assert modes(values) is None, why


@given(st.lists(times, min_size=ENOUGH, max_size=60))
def test_the_unit_does_not_matter(values: list[float]) -> None:
    found = modes(values)
    scaled = modes([v * 2.0 for v in values])  # exact in floating point
    assert (found is None) == (scaled is None)
    if found and scaled:
        assert [m.count for m in found] == [m.count for m in scaled]


def around(value: float) -> st.SearchStrategy[list[float]]:
    near = st.floats(min_value=value, max_value=value * 1.1)
    return st.lists(near, min_size=ENOUGH // 2, max_size=30)


@given(around(100), around(1000))
def test_modes_hold_all_values_in_order(low: list[float], high: list[float]) -> None:
    found = modes(high + low)
    assert found is not None
    assert [m.count for m in found] == [len(low), len(high)]
    assert found[0].value < 111 < 999 < found[1].value
