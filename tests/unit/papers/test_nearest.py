"""Votes of neighbours are right where a factor decides the answer, and unsure where none does."""

import numpy as np
import pytest

from dragstrip_papers.stats import nearest


def sample(cells: int = 600, noise: float = 0.02) -> tuple[nearest.Floats, nearest.Floats]:
    """Places with three factors; the first alone decides the ratio."""
    draw = np.random.default_rng(5)
    places = draw.random((cells, 3))
    return places, np.exp((places[:, 0] - 0.5) * 0.6 + draw.normal(0, noise, cells))


def test_ratios_near_one_are_no_answer_and_loads_that_did_not_end_lose():
    ratios = [0.9, 0.981, 1.0, 1.019, 1.1, 0.0, np.inf, np.nan]
    answers = [nearest.ANSWERS[i] for i in nearest.outcomes(ratios)]
    assert answers == ["b", "neither", "neither", "neither", "a", "b", "a", "neither"]


def test_a_cell_has_no_vote_on_itself():
    places = np.arange(6.0).reshape(-1, 1)
    answers = np.array([0, 2, 2, 2, 2, 2])
    assert nearest.votes(places, answers, k=2)[0].tolist() == [0, 0, 1]


def test_cells_at_the_same_place_vote_on_each_other():
    answers = np.array([0, 0, 0, 2])
    shares = nearest.votes(np.zeros((4, 1)), answers, k=3)
    assert shares[3].tolist() == [1, 0, 0]


def test_too_few_cells_are_refused():
    with pytest.raises(ValueError, match="neighbours"):
        nearest.votes(np.zeros((3, 1)), np.zeros(3, dtype=int), k=3)


def test_the_factor_that_decides_gets_the_weight():
    places, ratios = sample()
    answers = nearest.outcomes(ratios)
    weights = nearest.weights(places, [answers])
    assert weights[0] > 4 * max(weights[1:])
    better = nearest.surprise(nearest.votes(places * weights, answers), answers)
    assert better < nearest.surprise(nearest.votes(places, answers), answers)


def test_where_neighbours_agree_they_are_right_more_often():
    places, ratios = sample()
    answers = nearest.outcomes(ratios)
    groups = nearest.trust(nearest.votes(places, answers), answers)
    assert sum(group.cells for group in groups) == 600
    assert groups[-1].right > 0.95 > groups[0].right
    assert all(group.said == pytest.approx(group.right, abs=0.2) for group in groups)


def test_mere_chance_gives_no_sure_answer():
    draw = np.random.default_rng(1)
    answers = draw.integers(0, 3, 600)
    shares = nearest.votes(draw.random((600, 3)), answers)
    assert shares.max(axis=1).mean() < 0.6
    assert nearest.trust(shares, answers)[0].right < 0.45
