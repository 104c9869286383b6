"""Blocks run beside each other on slow links, while processor and verdicts allow."""

from itertools import count

import pytest
from msgspec import structs

import made
from dragstrip.execution.concurrency import (
    MOST_JOBS,
    RECENT_VISITS,
    RealTimeConcurrency,
    parse_jobs,
)
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.model.visit import HostReport, Overhead, Reason, Visit
from dragstrip.schedule.schedule import Schedule
from dragstrip.study.presets import find_stack

OVERHEAD = Overhead(prepare_ms=500, before_navigation_ms=10, settle_ms=100, collect_ms=500)


def on(*rates_mbps: float | None, runs: int = 8) -> Study:
    """A study of one page over networks of these rates, named by them."""
    networks = tuple(
        structs.replace(
            made.LTE, name=str(rate), down=structs.replace(made.LTE.down, rate_mbps=rate)
        )
        for rate in rates_mbps
    )
    return structs.replace(made.study(runs=runs), networks=networks)


def visit(network: str, cpu_s: float, wall_s: float, *, beside: int = 0, **more: object) -> Visit:
    host = HostReport(
        wall_ms=wall_s * 1000 - 1000, busy_share=0.5, steal_share=0, browser_cpu_s=cpu_s
    )
    return made.visit(network=network, host=host, overhead=OVERHEAD, beside=beside, **more)


def running(concurrency: RealTimeConcurrency, study: Study) -> list[str]:
    """The networks of the running blocks, once every block that may start has started."""
    schedule, started = Schedule(study), []
    while attempt := schedule.take(lambda block: concurrency.allows(block, started)):
        started.append(attempt.block)
    return [block.network for block in started]


def at_most(concurrency: RealTimeConcurrency) -> int:
    """How many blocks of the made visits on 0.5 Mbit/s may run in parallel."""
    return len(running(concurrency, on(0.5)))


def test_as_many_slow_blocks_as_jobs_and_a_fast_one_alone():
    light = [visit("0.5", cpu_s=0.2, wall_s=10)]
    assert running(RealTimeConcurrency(on(0.5), 4, light, cores=2), on(0.5)) == ["0.5"] * 4
    assert running(RealTimeConcurrency(on(0.5), 1, light, cores=2), on(0.5)) == ["0.5"]
    for fast in (10.5, None):
        light = [visit(str(fast), cpu_s=0.2, wall_s=10)]
        assert running(RealTimeConcurrency(on(fast), 4, light, cores=2), on(fast)) == [str(fast)]


def test_a_line_is_as_slow_as_its_loss_makes_it():
    def study(*stacks: str, loss: float = 0.02, rtt_ms: float = 200) -> Study:
        down = structs.replace(made.LTE.down, rate_mbps=50, loss=loss, delay_ms=rtt_ms / 2)
        up = structs.replace(made.LTE.up, delay_ms=rtt_ms / 2)
        lossy = structs.replace(made.LTE, name="lossy", down=down, up=up)
        found = tuple(find_stack(name) for name in stacks)
        return structs.replace(made.study(runs=8), networks=(lossy,), stacks=found)

    def at_once(study: Study) -> int:
        light = [visit("lossy", cpu_s=0.1, wall_s=20)]
        return len(running(RealTimeConcurrency(study, 4, light, cores=2), study))

    assert at_once(study("h2", "h3")) == 4
    assert at_once(study("h2", "h3", loss=0.0)) == 1
    assert at_once(study("h2", "h3", rtt_ms=10)) == 1
    assert at_once(study("h2", "TCP+BBR")) == 1  # BBR does not take loss for congestion


def test_fast_and_slow_blocks_never_run_together():
    study = on(0.5, 10.5)
    light = [visit("0.5", cpu_s=0.2, wall_s=10), visit("10.5", cpu_s=0.2, wall_s=10)]
    assert set(running(RealTimeConcurrency(study, 4, light, cores=2), study)) in ({"0.5"}, {"10.5"})


def test_the_processor_time_of_visits_bounds_the_number():
    # 2 s of processor in 10 s on two cores are 10 %: two fit into 27 %, on average 2.7.
    concurrency = RealTimeConcurrency(on(0.5), 4, [visit("0.5", cpu_s=2.0, wall_s=10)], cores=2)
    assert running(concurrency, on(0.5)) == ["0.5"] * 2
    assert concurrency.at_once(("made", "0.5", "first")) == pytest.approx(2.7)


def test_a_short_load_has_one_other_beside_it_at_most():
    study = on(0.5, 0.6)
    seen = [visit("0.5", cpu_s=0.1, wall_s=10), visit("0.6", cpu_s=0.1, wall_s=2.9)]
    concurrency = RealTimeConcurrency(study, 4, seen, cores=2)
    long, short = (next(b for b in study.blocks() if b.network == name) for name in ("0.5", "0.6"))
    assert concurrency.allows(long, [long, long])
    assert concurrency.allows(long, [short])
    assert concurrency.allows(short, [long])
    assert not concurrency.allows(long, [long, short])
    assert not concurrency.allows(short, [long, long])
    assert concurrency.at_once(short.cell) == 2
    late = visit("0.6", 0.1, 2.9, beside=1, reasons=(Reason("overloaded", "made up"),))
    for _ in range(3):  # shows nothing about how many long blocks fit
        concurrency.learn(late)
    assert not concurrency.allows(short, [long])
    assert concurrency.allows(long, [long, long])


def test_rates_add_up():
    concurrency = RealTimeConcurrency(on(2.0), 8, [visit("2.0", cpu_s=0.1, wall_s=20)], cores=1)
    assert running(concurrency, on(2.0)) == ["2.0"] * 2


def test_overloaded_visits_lower_the_number_and_calmer_ones_raise_it_again():
    concurrency = RealTimeConcurrency(on(0.5), 4, cores=2)
    late = (Reason("overloaded", "made up"),)
    numbers = count()

    def learn(*, beside: int, reasons: tuple[Reason, ...] = (), block: str = "") -> int:
        block = block or f"made|0.5|{next(numbers)}"
        concurrency.learn(visit("0.5", 0.1, 10, beside=beside, reasons=reasons, block=block))
        return at_most(concurrency)

    assert [learn(beside=0, reasons=late) for _ in range(9)] == [4] * 9  # no other block
    assert [learn(beside=3, reasons=late) for _ in range(3)] == [4, 4, 3]
    assert [learn(beside=3) for _ in range(5)] == [3] * 5
    assert [learn(beside=2, reasons=late) for _ in range(3)] == [3, 3, 2]
    assert [learn(beside=1, reasons=late) for _ in range(3)] == [2, 2, 1]
    assert [learn(beside=0, reasons=late) for _ in range(RECENT_VISITS)][-2:] == [1, 2]
    assert [learn(beside=1) for _ in range(5 * RECENT_VISITS)][-1] == 4


def test_few_overloaded_visits_among_many_are_only_made_again():
    concurrency = RealTimeConcurrency(on(0.5), 4, cores=2)
    late = (Reason("overloaded", "made up"),)
    for number in range(10 * RECENT_VISITS):
        reasons = late if number % 15 == 0 else ()
        seen = visit("0.5", 0.1, 10, beside=3, reasons=reasons, block=f"made|0.5|{number}")
        concurrency.learn(seen)
    assert at_most(concurrency) == 4


def test_time_left_is_as_measured_and_shared_by_what_runs_at_once():
    study = on(0.5, 10.5, runs=2)
    seen = [visit("0.5", cpu_s=0.1, wall_s=20), visit("10.5", cpu_s=0.1, wall_s=3)]
    left = Schedule(study).left
    assert RealTimeConcurrency(study, 1, seen, cores=2).seconds(left) == pytest.approx(
        6 * 20 + 6 * 3
    )
    assert RealTimeConcurrency(study, 4, seen, cores=2).seconds(left) == pytest.approx(
        6 * 20 / 4 + 6 * 3
    )


def test_a_cell_without_a_visit_is_expected_to_err_as_the_others_did():
    study = on(0.5, 10.5)
    cells = study.cells()
    expected = [RealTimeConcurrency(study).pace.visit_s(cell) for cell in cells]
    seen = [visit("0.5", cpu_s=0.1, wall_s=3 * expected[0])]
    assert RealTimeConcurrency(study, 1, seen).pace.visit_s(cells[1]) == pytest.approx(
        3 * expected[1]
    )


def test_jobs_are_a_number_or_auto():
    assert (parse_jobs("auto"), parse_jobs("7")) == (MOST_JOBS, 7)
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(InputError, match="--jobs"):
            parse_jobs(wrong)


def test_time_that_was_stolen_says_nothing_about_how_many_fit():
    study = on(0.5)
    concurrency = RealTimeConcurrency(study, 4, cores=2)
    stolen = visit("0.5", 0.1, 10, beside=3, reasons=(Reason("overloaded", "made up"),))
    assert stolen.host
    for number in range(8):
        host = structs.replace(stolen.host, steal_share=0.1)
        concurrency.learn(structs.replace(stolen, host=host, block=f"made|0.5|{number}"))
    assert at_most(concurrency) == 4


def test_who_works_beside_others_is_there_and_knows_the_pages_before_the_first_visit():
    study = on(0.5, 10.5, runs=2)
    visits = len(study.visited)
    slow, fast = study.cells()
    every = Schedule(study).left
    assert RealTimeConcurrency(study, 4, cores=2).first_workers(every) == (2, ("made",))
    assert RealTimeConcurrency(study, 1, cores=2).first_workers(every) == (0, ())
    for alone in ({slow: visits}, {fast: 9 * visits}, {}):
        assert RealTimeConcurrency(study, 4, cores=2).first_workers(alone) == (0, ())
