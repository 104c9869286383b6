"""A smaller scale of a study keeps its blocks."""

import pytest
from msgspec import structs

import made
from dragstrip.model.errors import InputError
from dragstrip.results.manifest import Manifest
from dragstrip.schedule.estimate import StudyPace, visit_s
from dragstrip.schedule.scale import SMOKE_S, scaled


def study():
    """Four cells, of which the slow ones take minutes."""
    slow = structs.replace(
        made.LTE, name="slow", down=structs.replace(made.LTE.down, rate_mbps=0.005)
    )
    pages = made.study(runs=31, pages=("a", "b"))
    return structs.replace(pages, networks=(*pages.networks, slow))


def test_smoke_is_one_block_of_the_cheapest_cells_that_fit():
    whole, part = study(), scaled(study(), "smoke")
    pace = StudyPace(whole)
    took = sum(pace.visit_s(cell) * 3 for cell in part.cells())
    left_out = min(pace.visit_s(c) * 3 for c in whole.cells() if c not in part.cells())
    assert part.runs == 1
    assert took <= SMOKE_S < took + left_out
    assert {"a", "b"} == {page for page, network, _ in part.cells() if network == "LTE"}
    blocks = list(whole.blocks())
    assert all(block in blocks for block in part.blocks())


def test_a_share_is_one_of_the_runs_and_paper_is_all():
    assert scaled(study(), "paper") == study()
    assert [scaled(study(), f).runs for f in ("1", "0.2", "0.001")] == [31, 7, 1]


@pytest.mark.parametrize("wrong", ["0", "2", "-1", "large", "nan"])
def test_any_other_scale_is_refused(wrong):
    with pytest.raises(InputError, match="--scale"):
        scaled(study(), wrong)


def test_a_larger_scale_continues_a_smaller_one():
    small = Manifest(study=scaled(study(), "smoke"), starts=())
    assert small.differences(Manifest(study=study(), starts=())) == []


def test_loss_and_rate_bound_the_time_expected():
    free = structs.replace(made.LTE, down=structs.replace(made.LTE.down, rate_mbps=None))
    lossy = structs.replace(free, down=structs.replace(free.down, loss=0.05))
    times = [visit_s(1_000_000, 1, network) for network in (free, made.LTE, lossy)]
    assert times == sorted(times)
    assert times[1] - times[0] == pytest.approx(8 / 10.5)
    # sqrt(1.5 / 0.05) = 5.48 segments of 1448 bytes in each 74 ms.
    assert times[2] - times[0] == pytest.approx(1_000_000 / (5.477 * 1448 / 0.074), rel=1e-3)
