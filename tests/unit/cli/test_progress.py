"""A log shows now and then how far a study is."""

import pytest
from msgspec import structs

import made
from dragstrip.cli.study import progress as module
from dragstrip.cli.study.progress import progress
from dragstrip.execution.concurrency import RealTimeConcurrency
from dragstrip.model.visit import Reason
from dragstrip.schedule.schedule import Schedule


@pytest.mark.parametrize(("every_s", "lines"), [(0.0, 3), (3600.0, 0)])
def test_without_a_terminal_it_is_a_line_at_most_so_often(every_s, lines, monkeypatch, capsys):
    monkeypatch.setattr(module, "LINE_EVERY_S", every_s)
    study = made.study(runs=2)
    schedule = Schedule(study)
    block = next(iter(study.blocks()))
    with progress(schedule, RealTimeConcurrency(study).seconds) as tell:
        for number, stack in enumerate(block.order[:3]):
            visit = made.visit(stack, block=block.id)
            if number == 1:
                visit = structs.replace(visit, reasons=(Reason("mixed", "made up"),))
            schedule.add(visit)
            tell(visit)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines
    if said:
        assert said[-1].startswith("3 of 9 visits, left about ")  # the block is made again
        assert said[-1].endswith("; 1 of 3 new visits are invalid")
