"""What is run in the time that visits leave, when they take less than planned or more."""

from msgspec import structs

from dragstrip.papers.campaign import Part, campaign
from dragstrip.papers.claims import published
from dragstrip.papers.fill import fill
from dragstrip.papers.space import CELL

BUDGET_S = 600.0


def cells_of(part: Part) -> list[tuple[str, ...]]:
    return [(part.outline.name, *row) for row in part.cells.select(CELL).iter_rows()]


class Machine:
    """Takes `speed` of the planned time for cells, and remembers which it ran."""

    def __init__(self, speed: float) -> None:
        self.speed, self.now, self.rounds = speed, 0.0, 0
        self.seen: set[tuple[str, ...]] = set()

    def run(self, parts: list[Part], until: float) -> bool:
        self.rounds += 1
        self.now += self.speed * sum(part.seconds for part in self.unseen(parts))
        self.seen.update(cell for part in parts for cell in cells_of(part))
        return self.now <= until

    def unseen(self, parts: list[Part]) -> list[Part]:
        return [
            structs.replace(
                part, cells=part.cells.filter([cell not in self.seen for cell in cells_of(part)])
            )
            for part in parts
        ]


def filled(machine: Machine) -> bool:
    paper = published("megyesi2016")

    def plan(budget_s: float) -> list[Part]:
        return campaign(paper, paper.outlines(), "smoke", budget_s)

    return fill(plan, machine.run, machine.unseen, BUDGET_S, clock=lambda: machine.now)


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


def test_a_folder_that_has_them_all_is_left_at_that():
    machine = Machine(1.0)
    assert filled(machine)
    before, machine.rounds = set(machine.seen), 0
    assert filled(machine)
    assert (machine.rounds, machine.seen) == (1, before)
