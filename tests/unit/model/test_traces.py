"""Traces: both forms are read, and errors name file and line."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragstrip.model.errors import InputError
from dragstrip.model.trace import OPPORTUNITY_BYTES, DelayTrace, Trace
from dragstrip.study.tracefiles.files import read_played
from dragstrip.study.traces import parse_trace

# The machine may be busy, so no example has a deadline.
few = settings(max_examples=40)


@st.composite
def opportunities(draw):
    gaps = draw(st.lists(st.integers(0, 40), min_size=1, max_size=30))
    times, at = [], 0
    for gap in gaps:
        at += gap
        times.append(at)
    return Trace(name="made", opportunities_ms=(*times, at + draw(st.integers(1, 40))))


@st.composite
def steps(draw):
    gaps = draw(st.lists(st.floats(0.002, 0.2), min_size=1, max_size=6))
    rates = draw(st.lists(st.floats(0, 50), min_size=len(gaps), max_size=len(gaps)))
    at, pairs = 0.0, [(0.0, draw(st.floats(6, 50)))]
    for gap, rate in zip(gaps, rates, strict=True):
        at += gap
        pairs.append((at, rate))
    return Trace(name="made", steps=tuple(pairs))


def parsed(text: str) -> Trace:
    return parse_trace(text, name="made", where="made.txt")


@few
@given(opportunities())
def test_mahimahi_is_read_as_it_was_written(trace):
    assert parsed("".join(f"{at}\n" for at in trace.opportunities_ms)) == trace


@few
@given(steps())
def test_seconds_and_rates_are_read_as_they_were_written(trace):
    assert parsed("".join(f"{at!r} {rate!r}\n" for at, rate in trace.steps)) == trace


@few
@given(st.one_of(opportunities(), steps()), st.floats(0, 1e5), st.floats(0, 1e4))
def test_nothing_beats_the_least_time(trace, start_ms, lasts_ms):
    carried = trace.bytes_until(start_ms + lasts_ms) - trace.bytes_until(start_ms)
    assert trace.least_ms(carried * (1 - 1e-9)) <= lasts_ms * (1 + 1e-9) + 1e-6


@few
@given(st.one_of(opportunities(), steps()))
def test_the_curve_never_falls_and_repeats_lap_by_lap(trace):
    times = [trace.lap_ms * i / 10 for i in range(31)]
    curve = [trace.bytes_until(at) for at in times]
    assert all(a <= b + 1e-6 for a, b in pairwise(curve))
    assert curve[25] - curve[15] == pytest.approx(trace.lap_bytes, abs=2 * OPPORTUNITY_BYTES)


@few
@given(st.text(max_size=60))
def test_any_text_is_a_trace_or_one_clear_error(text):
    try:
        trace = parsed(text)
    except InputError as error:
        said = str(error)
    else:
        said = "made.txt" if trace.lap_ms > 0 else ""
    assert said.startswith("made.txt")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "made.txt has no lines"),
        ("1\n2\nx\n", "made.txt, line 3: 'x' is not a whole number of ms"),
        ("# ms\n1\n\n2 3\n", "made.txt, line 4: '2 3' is not a whole number of ms"),
        ("0 1\n1 -2\n", "made.txt, line 2: '1 -2' is not 'seconds Mbit/s'"),
        ("0 1\n1 nan\n", "made.txt, line 2: '1 nan' is not 'seconds Mbit/s'"),
        ("0 1\n2 3\n1 9\n", "made.txt, line 3: goes back in time"),
        ("5\n4\n", "made.txt, line 2: goes back in time"),
        ("0\n0\n", "made.txt: a trace begins at 0 or later, and ends after its beginning"),
        ("0 1\n", "made.txt: a trace begins at 0 or later, and ends after its beginning"),
        ("1 1\n2 2\n", "made.txt: steps begin at 0 s"),
        (
            "0 0\n2 2\n",
            "made.txt: rates must lie between 0 and 1000000 Mbit/s, and one must reach 0.001",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, said):
    with pytest.raises(InputError) as error:
        parsed(text)
    assert str(error.value).startswith(said)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"trace .*none\.txt: no such file"):
        read_played(tmp_path / "none.txt")


def test_a_known_trace_has_its_known_numbers():
    trace = parsed("0 8\n1 0\n3 4\n5 0\n")  # 1 s of 1 MB/s, 2 s of nothing, 2 s of 0.5 MB/s
    assert (trace.lap_ms, trace.lap_bytes, trace.mean_mbps) == (5000, 2_000_000, 3.2)
    assert trace.bytes_until(2000) == 1_000_000
    assert trace.bytes_until(9000) == 3_500_000
    assert trace.least_ms(1_000_000) == 1000
    chances = parsed("1\n1\n10\n")
    assert (chances.lap_bytes, chances.least_ms(3000), chances.least_ms(4500)) == (4500, 0, 1)


@pytest.mark.parametrize("seed", range(3))
def test_traces_as_people_record_them_are_read(tmp_path, seed):
    """A phone's 3G on the move: a rate about once a second, for minutes, with holes."""
    draw = random.Random(seed)
    at, rate, lines = 0.0, 1.5, []
    for _ in range(300):
        lines.append(f"{at:.3f} {rate:.4f}")
        at += draw.uniform(0.9, 1.3)
        rate = 0.0 if draw.random() < 0.03 else max(0.05, (rate or 1) * draw.uniform(0.6, 1.6))
        rate = min(rate, 6.0)
    path = tmp_path / "bus.txt"
    path.write_text("\n".join(lines) + "\n")
    trace = read_played(path).down
    assert 0.05 < trace.mean_mbps < 6


DELAYS = DelayTrace(name="made", steps=((0, 20), (1, 50), (1.5, 5), (2, 0)))


def test_a_delay_trace_knows_its_bounds_and_its_mean():
    assert (DELAYS.least_ms, DELAYS.most_ms, DELAYS.lap_ms) == (5, 50, 2000)
    assert DELAYS.mean_ms == pytest.approx((20 + 25 + 2.5) / 2)


@pytest.mark.parametrize(
    ("begin", "end", "bounds"),
    [
        (0, 999, (20, 20)),
        (0, 1000, (20, 50)),
        (1200, 1600, (5, 50)),
        (1600, 2100, (5, 20)),  # over the end of the trace
        (3600, 4100, (5, 20)),
        (100, 2050, (5, 50)),  # nearly a lap
        (0, 9000, (5, 50)),
    ],
)
def test_the_delays_of_a_stretch_of_time_are_bounded(begin, end, bounds):
    assert DELAYS.between(begin, end) == bounds


@given(offset=st.floats(0, 5000), at=st.floats(0, 3000))
@few
def test_a_turned_delay_trace_begins_elsewhere(offset, at):
    turned = DELAYS.turned(offset)
    assert turned.lap_ms == DELAYS.lap_ms
    edges = [edge - offset % 2000 for edge in (0, 1000, 1500, 2000, 3000, 3500, 4000, 5000, 5500)]
    if all(abs(at - edge) > 0.01 for edge in edges):
        assert turned.between(at, at) == DELAYS.between(offset + at, offset + at)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        ((0, 5),),
        ((1, 5), (2, 0)),
        ((0, 5), (0, 6), (1, 0)),
        ((0, 5), (2, 6), (1, 0)),
        ((0, -1), (1, 0)),
        ((0, float("nan")), (1, 0)),
        ((0, 5), (float("nan"), 0)),
        ((0, 1e9), (1, 0)),
        ((0, 1), (1e9, 0)),
    ],
)
def test_a_delay_trace_without_sense_is_refused(steps):
    with pytest.raises(ValueError, match=r"delay|steps"):
        DelayTrace(name="made", steps=steps)


@given(one=st.one_of(opportunities(), steps()), share=st.floats(0.01, 1))
@few
def test_a_scaled_trace_carries_its_share(one, share):
    scaled = one.scaled(share)
    assert scaled.lap_ms == one.lap_ms
    kept = OPPORTUNITY_BYTES if one.opportunities_ms else 1e-6 * one.lap_bytes
    assert scaled.lap_bytes == pytest.approx(one.lap_bytes * share, abs=kept)
