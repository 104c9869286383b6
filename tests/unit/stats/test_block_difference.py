"""The typical difference between two stacks over blocks."""

import math

import pytest

from dragstrip.stats.block_difference import difference


def test_what_the_blocks_share_cancels_out():
    shared = [100.0, 5000, 20, 900, 40]
    found = difference(shared, [ms + 7 for ms in shared])
    assert (found.value, found.low, found.high, found.n) == (7, 7, 7, 5)


def test_four_blocks_have_no_interval():
    found = difference([1.0, 2, 3, 4], [2.0, 3, 4, 5])
    assert (found.value, found.low, found.high) == (1, None, None)


def test_a_failed_load_is_the_latest_and_two_are_equal():
    found = difference([10.0] * 5 + [math.inf], [11.0] * 4 + [math.inf, math.inf])
    assert found.value == 1
    assert found.high == math.inf


def test_values_without_pairs_are_refused():
    with pytest.raises(ValueError, match="needs pairs"):
        difference([1.0], [])
