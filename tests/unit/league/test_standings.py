"""Ranks: shown differences separate entries, chance does not, and doubt never ranks."""

import random

import pytest
from msgspec import structs

import made
from dragstrip.league.standings import pair_of, shown_ahead, standings
from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import refresh, scan
from made_capsule import capsule, study

FAST, SLOW = [1000.0, 1010, 990, 1005, 1000], [1200.0, 1215, 1190, 1206, 1202]


def ranked(folder, times, **changes):
    stacks = tuple(structs.replace(made.STACKS["h3"], name=name) for name in times)
    of = structs.replace(study(**changes), stacks=stacks, runs=len(next(iter(times.values()))))
    made_ = capsule(folder, times, of=of)
    refresh(made_)
    return standings(of, scan(Capsule.open(folder), "visits"), "plt_ms")


@pytest.fixture(autouse=True)
def stacks(monkeypatch):
    for name in ("a", "b", "c"):
        monkeypatch.setitem(made.STACKS, name, structs.replace(made.STACKS["h3"], name=name))


def test_a_shown_difference_ranks(tmp_path):
    first, second = ranked(tmp_path, {"a": SLOW, "b": FAST})
    assert (first.name, first.rank, second.name, second.rank) == ("b", "1", "a", "2")
    assert second.low < second.ratio < second.high
    assert second.ratio == pytest.approx(1.2, abs=0.01)
    assert (second.gap, second.blocks, second.visits, second.invalid) == ("shown", 5, 5, 0)
    assert (first.ratio, first.low, first.gap) == (1.0, None, "none")


def test_entries_that_the_data_do_not_separate_share_a_rank(tmp_path):
    alike = [value + shift for value, shift in zip(FAST, (5, -6, 4, -3, 1), strict=True)]
    found = ranked(tmp_path, {"a": FAST, "b": alike, "c": SLOW})
    assert {one.name: one.rank for one in found} == {"a": "1 to 2", "b": "1 to 2", "c": "3"}


def test_too_few_blocks_have_neither_interval_nor_own_rank(tmp_path):
    found = ranked(tmp_path, {"a": SLOW[:4], "b": FAST[:4]})
    assert [(one.rank, one.low) for one in found] == [("1 to 2", None)] * 2


def test_a_load_that_times_out_counts_as_the_limit(tmp_path):
    found = ranked(tmp_path, {"a": [None] * 5, "b": FAST})
    assert [(one.name, one.censored) for one in found] == [("b", 0), ("a", 5)]
    assert found[1].ratio == pytest.approx(10, abs=0.1)


def test_equal_loads_to_the_last_byte_share_a_rank_within_one_percent():
    assert not shown_ahead({("a", "b"): pair_of([0.009] * 5)})
    assert shown_ahead({("a", "b"): pair_of([0.02] * 5)}) == {("a", "b")}
    assert shown_ahead({("a", "b"): pair_of([-0.02] * 5)}) == {("b", "a")}


def test_doubt_and_too_few_blocks_separate_no_one():
    assert not shown_ahead({("a", "b"): pair_of([0.5] * 5, doubted=True)})
    assert not shown_ahead({("a", "b"): pair_of([0.5, 0.5, 0.5, 0.5])})


def test_equal_servers_are_rarely_separated():
    draw = random.Random(1)
    false_alarms = 0
    for _ in range(200):
        logs = {name: [draw.gauss(0, 0.05) for _ in range(6)] for name in "abcde"}
        pairs = {
            (a, b): pair_of([y - x for x, y in zip(logs[a], logs[b], strict=True)])
            for a in logs
            for b in logs
            if a < b
        }
        false_alarms += bool(shown_ahead(pairs))
    assert false_alarms <= 200 * 0.05


def test_a_planted_delay_is_found_in_twenty_of_twenty_leagues():
    draw = random.Random(2)
    for _ in range(20):
        fair = [[draw.gauss(0, 0.01) for _ in range(5)] for _ in range(3)]
        late = [draw.gauss(0.1, 0.01) for _ in range(5)]
        pairs = {
            (n, "late"): pair_of([y - x for x, y in zip(one, late, strict=True)])
            for n, one in zip("abc", fair, strict=True)
        }
        assert shown_ahead(pairs) == {("a", "late"), ("b", "late"), ("c", "late")}
