"""The live page of a study shows the same as its report about the same visits."""

import pytest
import simulate

from dragstrip.results.compare.stacks import compare
from dragstrip.watch.tally import StudyTally


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_ratios_are_those_of_the_report(share):
    study = simulate.study(runs=12, networks=("LTE", "DA2GC"))
    visits = list(simulate.visits(study))
    visits = visits[: int(share * len(visits))]
    tally = StudyTally(study)
    for visit in visits:
        assert tally.add(visit) is not None
    first = study.stacks[0].name
    found = [c for c in compare(study, visits, ["plt_ms"]) if c.a == first and c.bound is None]
    assert found
    for number, (page, network, _) in enumerate(study.cells()):
        shown = {c.stack: c for c in tally.cell(number).comparisons}
        for theirs in found:
            if (theirs.page, theirs.network) == (page, network):
                mine = shown[theirs.b]
                assert mine.ratio == pytest.approx(theirs.ratio)
                assert mine.low == (theirs.low and pytest.approx(theirs.low))
                assert tally.cell(number).counted == theirs.n


def test_what_is_left_falls_to_nothing():
    study = simulate.study(runs=4)
    tally = StudyTally(study)
    left = []
    for visit in simulate.visits(study, invalid=0.0, timeouts=0.0):
        left.append(tally.standing().left)
        tally.add(visit)
    assert [*left, tally.standing().left] == list(range(4 * len(study.visited), -1, -1))


def test_reasons_and_machines_are_counted():
    study = simulate.study(runs=20)
    visits = list(simulate.visits(study, invalid=0.3))
    tally = StudyTally(study)
    for visit in visits:
        tally.add(visit)
    standing = tally.standing()
    invalid = [v for v in visits if not v.valid]
    assert sum(standing.reasons.values()) == len(invalid) > 0
    assert standing.machines[""] == {"visits": len(visits), "invalid": len(invalid)}
