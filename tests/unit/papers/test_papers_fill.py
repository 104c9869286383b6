"""What is run in the time that visits leave, when they take less than planned or more."""

from dragstrip_papers.campaign.fill import fill
from dragstrip_papers.campaign.plan import Cells, Part, beyond, campaign
from dragstrip_papers.campaign.space import CELL
from dragstrip_papers.claims import published

BUDGET_S = 600.0


class Machine:
    """Takes `speed` of the planned time for cells, and remembers which it ran."""

    def __init__(self, speed: float) -> None:
        self.speed, self.now, self.rounds, self.asked = speed, 0.0, 0, 0
        self.seen: Cells = frozenset()

    def run(self, parts: list[Part], until: float) -> bool:
        self.rounds += 1
        self.asked = sum(len(part.cells) for part in parts)
        self.now += self.speed * sum(part.seconds for part in beyond(parts, self.seen))
        self.seen |= {
            key for part in parts for key in part.cells.select("study", *CELL).iter_rows()
        }
        return self.now <= until


def filled(machine: Machine, budget_s: float = BUDGET_S) -> bool:
    paper = published("megyesi2016")

    def plan(budget_s: float, there: Cells) -> list[Part]:
        return campaign(paper, paper.specs(), "smoke", budget_s, there=there)

    parts = plan(budget_s, machine.seen)
    seen, clock = (lambda: machine.seen), (lambda: machine.now)
    return fill(parts, plan, machine.run, seen, budget_s, clock=clock)


def test_time_that_is_left_goes_to_more_cells():
    planned, quick = Machine(1.0), Machine(0.25)
    assert filled(planned)
    assert filled(quick)
    assert len(quick.seen) > 1.5 * len(planned.seen)
    assert 0.8 * BUDGET_S < quick.now <= BUDGET_S


def test_a_machine_that_is_slower_than_planned_says_that_time_was_up():
    slow = Machine(2.0)
    assert not filled(slow)
    assert slow.rounds == 1


def test_the_same_again_goes_on_with_more_cells_until_none_fits():
    machine, sizes = Machine(1.0), [-1, 0]
    while sizes[-1] > sizes[-2]:
        before = machine.now
        assert filled(machine)
        assert machine.now - before <= BUDGET_S
        sizes.append(len(machine.seen))
    assert 40 < sizes[-1] < 48  # a cell of the slowest takes longer than all of the time


def test_without_any_time_not_even_what_was_begun_is_finished():
    machine = Machine(1.0)
    assert filled(machine)
    assert machine.asked
    assert filled(machine, budget_s=0)
    assert machine.asked == 0
