"""The plain sentences, for each way a comparison can end."""

import pytest
import simulate
from msgspec import structs

from dragstrip.model.clock import NETWORK, PRICED, REAL
from dragstrip.model.effects import MtuBehaviour
from dragstrip.model.steps import LinkChange, LinkStep
from dragstrip.model.study import Study
from dragstrip.model.visit import Outcome, Timeline, Visit
from dragstrip.report.data.answer import CellAnswer, answer
from dragstrip.report.data.cells import ReportCell, cells
from dragstrip.report.data.shown import shown
from dragstrip.report.figures.ecdf import curves
from dragstrip.results.tables.build import frames


def race(*plts: tuple[float | None, ...]) -> tuple[Study, list[Visit]]:
    """Blocks of page load times in ms; the stacks are h1, h2, h3; None is a timeout."""
    study = simulate.study(runs=len(plts))
    study = structs.replace(study, stacks=study.stacks[: len(plts[0])])
    blank = next(simulate.visits(study, invalid=0, timeouts=0))
    visits = [
        structs.replace(
            blank,
            block=block.id,
            stack=stack.name,
            plt_ms=plt,
            outcome="loaded" if plt else "timeout",
        )
        for block, row in zip(study.blocks(), plts, strict=True)
        for stack, plt in zip(study.stacks, row, strict=True)
    ]
    return study, visits


def cell_of(*plts: tuple[float | None, ...]) -> ReportCell:
    study, visits = race(*plts)
    (cell,) = cells(study, frames(visits, study)["visits"].with_row_index("row").lazy())
    return cell


def answered(*plts: tuple[float | None, ...]) -> CellAnswer:
    return answer(cell_of(*plts), 180)


def test_a_shown_difference_names_stack_size_interval_and_blocks() -> None:
    said = answered((1000, 900), (1010, 905), (990, 895), (1000, 898), (1005, 902))
    assert said.standing == "shown"
    assert said.sentence == (
        "h2 loads demo over LTE 10.2 % faster than h1 (9.6 to 10.4 %); 95 % intervals, 5 blocks. "
        "h2 and h1 also differ in: connections (h1 opens up to six per host, each with its own "
        "initial window)."
    )
    assert said.believe == "It rests on 10 visits that passed every check of the testbed."


def exactly(*plts: tuple[float | None, ...]) -> str:
    virtual = structs.replace(cell_of(*plts), clock=PRICED)
    return answer(virtual, 180).sentence.partition(" h2 and h1 also")[0]


def test_few_blocks_are_enough_in_virtual_time() -> None:
    assert exactly((1000, 940), (1000, 938)) == (
        "h2 loads demo over LTE in virtual time 6.0 to 6.2 % faster than h1, in each of 2 blocks. "
        "The same seed gives the same load."
    )
    assert exactly((1000, 940)).endswith(
        "6.0 % faster than h1, in its one block. The same seed gives the same load."
    )
    assert exactly((1000, 940), (1000, 1002), (1000, 950)) == (
        "On demo over LTE in virtual time no stack is faster than h1 in each of 3 blocks."
    )
    assert exactly((None, 900), (None, 900)) == (
        "h2 loads demo over LTE in virtual time where no load over h1 ended, in each of 2 blocks. "
        "The same seed gives the same load."
    )
    some = exactly((None, 900), (1000, 900))
    assert "10.0 % faster than h1 (1 of 2 loads over h1 did not end), in each of 2 blocks" in some


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("black-hole", "longer than its MTU of 1280 B in silence (h1 11 in the median visit)."),
        ("too-big", "longer than its MTU of 1280 B and told their senders (h1 11 in the median"),
        ("clamp", "longer than its MTU of 1280 B in silence, and clamped the MSS of TCP (h1 11"),
    ],
)
def test_an_answer_says_that_the_mtu_dropped_packets(behaviour: MtuBehaviour, said: str) -> None:
    study, visits = race((None, 940), (None, 938))
    for place, visit in enumerate(visits):
        assert visit.link
        down = structs.replace(visit.link.down, dropped_mtu=11 if visit.stack == "h1" else 0)
        visits[place] = structs.replace(visit, link=structs.replace(visit.link, down=down))
    (cell,) = cells(study, frames(visits, study)["visits"].with_row_index("row").lazy())
    narrow = structs.replace(cell.network.down, mtu=1280, mtu_behaviour=behaviour)
    network = structs.replace(cell.network, down=narrow)
    told = answer(structs.replace(cell, network=network, clock=NETWORK), 180).sentence
    assert said in told
    assert told.endswith("Of their loads 2 over h1 did not end.")
    assert "100.0 %" not in told
    free = structs.replace(cell, results=cell.results[1:])
    assert "MTU" not in answer(free, 180).sentence


def with_drops(opening: tuple[float, ...], at_ms: int) -> ReportCell:
    """Loads whose connections open at these times and take 100 ms, and whose queue up drops 9
    packets, of h2 12."""
    study, visits = race((1000, 940), (1000, 938))
    for place, visit in enumerate(visits):
        assert visit.link
        dropped = 12 if visit.stack == "h2" else 9
        course = Timeline(start_us=visit.started_us, slot_us=1000, slots=((at_ms, 0, dropped),))
        up = structs.replace(visit.link.up, dropped_queue=dropped, timeline=course)
        requests = (
            structs.replace(visit.requests[0], connect_start_ms=at, connect_end_ms=at + 100)
            for at in opening
        )
        visits[place] = structs.replace(
            visit, link=structs.replace(visit.link, up=up), requests=tuple(requests)
        )
    (cell,) = cells(study, frames(visits, study)["visits"].with_row_index("row").lazy())
    return structs.replace(cell, clock=NETWORK)


def test_virtual_time_owns_up_to_a_queue_that_its_burst_of_connections_filled() -> None:
    cell = with_drops((0, 400, 410, 420), at_ms=450)
    virtual = answer(cell, 180).believe
    assert "the queue up dropped packets (h2 12 in the median visit)" in virtual
    assert "the queue up dropped" not in answer(structs.replace(cell, clock=REAL), 180).believe
    assert "the queue up dropped" not in answer(structs.replace(cell, clock=PRICED), 180).believe


@pytest.mark.parametrize(
    ("opening", "at_ms"),
    [
        ((0,), 50),  # one connection, which uploads
        ((0, 400), 450),  # connections open one after the other
        ((0, 400, 410, 420), 900),  # drops long after the connections opened
    ],
)
def test_virtual_time_blames_no_burst_that_was_none(opening: tuple[float, ...], at_ms: int) -> None:
    assert "the queue up dropped" not in answer(with_drops(opening, at_ms), 180).believe


def test_few_blocks_are_not_enough_where_luck_is_part_of_the_network() -> None:
    cell = structs.replace(cell_of((1000, 940), (1000, 938)), clock=NETWORK)
    lossy = structs.replace(cell.network, up=structs.replace(cell.network.up, loss=0.01))
    assert answer(structs.replace(cell, network=lossy), 180).standing == "too few"


def test_the_baseline_may_win() -> None:
    said = answered(*[(900 + i, 1000) for i in range(5)])
    assert said.sentence.startswith("h1 loads demo over LTE 9.8 % faster than h2 (9.6 to 10.0 %)")


def test_an_interval_that_holds_one_shows_nothing() -> None:
    said = answered((1000, 900), (900, 1000), (1000, 910), (910, 1000), (950, 940))
    assert said.standing == "not shown"
    assert said.sentence.startswith("On demo over LTE no difference between h1 and h2 could be sh")


def test_of_three_only_the_shown_differences_are_claimed() -> None:
    said = answered(
        (1200, 1000, 1010),
        (1210, 1015, 1000),
        (1190, 995, 1000),
        (1205, 1001, 990),
        (1200, 990, 999),
    )
    assert "% faster than h1 (" in said.sentence
    assert "no difference could be shown" in said.sentence
    assert "faster than h2" not in said.sentence
    assert "faster than h3" not in said.sentence


@pytest.mark.parametrize("blocks", [1, 4])
def test_few_blocks_are_said_first(blocks: int) -> None:
    said = answered(*[(1000 + i, 900) for i in range(blocks)])
    assert said.standing == "too few"
    noun = "1 block" if blocks == 1 else "4 blocks"
    assert said.sentence.startswith(f"Too few blocks to say ({noun} of at least 5). So far")


def test_a_timeout_is_owned_up_to() -> None:
    said = answered((1000, 900), (1000, 900), (1000, None), (1000, 900), (1000, 900))
    told = "1 load did not complete (h2 1): it timed out. It counts as slower than every load"
    assert told in said.believe


def ended(*how: tuple[Outcome, str]) -> CellAnswer:
    """The answer where h2's last loads ended so."""
    study, visits = race(*([(1000, 900)] * 5))
    of_h2 = [place for place, visit in enumerate(visits) if visit.stack == "h2"][-len(how) :]
    for place, (outcome, error) in zip(of_h2, how, strict=True):
        visits[place] = structs.replace(visits[place], outcome=outcome, error=error)
    (cell,) = cells(study, frames(visits, study)["visits"].with_row_index("row").lazy())
    return answer(cell, 180)


def test_an_answer_says_how_loads_ended_that_did_not_complete() -> None:
    lost: tuple[Outcome, str] = ("incomplete", "net::ERR_CONNECTION_CLOSED")
    told = "2 loads did not complete (h2 2): they lost objects (net::ERR_CONNECTION_CLOSED). They"
    assert told in ended(lost, lost).believe
    several = ended(lost, ("failed", "net::ERR_FAILED"), ("timeout", "")).believe
    assert "1 lost objects (net::ERR_CONNECTION_CLOSED), 1 failed (net::ERR_FAILED)" in several
    assert "1 timed out. They count" in several


def test_a_timeout_holds_the_curve_below_one_and_is_not_drawn_at_the_limit() -> None:
    h1, h2 = curves(cell_of((1000, 900), (1000, 900), (1000, None), (1000, 901)))["plt_ms"].values()
    assert (h2["lost"], h2["y"]) == (1, [0.5, 0.75])
    assert max(h2["x"]) == 0.901
    assert h1["y"][-1] == 1


def test_no_figure_of_page_load_time_when_nothing_loaded() -> None:
    found = curves(cell_of((None, None)))
    assert "plt_ms" not in found
    assert "ttfb_ms" in found


def test_a_long_curve_keeps_its_ends() -> None:
    found = curves(cell_of(*((1000 + i, 2000 + i) for i in range(500))))["plt_ms"]["h1"]
    assert len(found["x"]) == 200
    assert (found["x"][0], found["x"][-1], found["y"][-1]) == (1.0, 1.499, 1)


def test_the_typical_visit_is_the_one_of_median_load_time() -> None:
    cell = cell_of((1000, 5), (3000, 6), (2000, 7), (9000, 8))
    typical = [s.row for s in shown(cell, room=1000) if s.why == "typical"]
    assert typical == [4, 3]  # rows go block by block: the third h1, the second h2


def test_visits_are_shown_while_there_is_room_and_in_any_case_if_asked_for() -> None:
    cell = cell_of((1000, 5), (3000, 6), (2000, 7), (9000, 8))
    assert [s.why for s in shown(cell, room=1000)] == ["typical"] * 2 + ["slowest"] * 2
    assert shown(cell, room=0) == []
    asked = shown(cell, room=0, also=["demo|LTE|3|h1|0"])
    assert [(s.row, s.why) for s in asked] == [(6, "asked for")]


def test_an_answer_says_what_happens_to_the_link() -> None:
    study, visits = race((1000, 940), (1000, 938))
    (cell,) = cells(study, frames(visits, study)["visits"].with_row_index("row").lazy())
    steps = (
        LinkStep(t_ms=500, outage_ms=300),
        LinkStep(t_ms=900, down=LinkChange(mtu=1280), rebind="port"),
    )
    network = structs.replace(cell.network, at=steps)
    told = answer(structs.replace(cell, network=network, clock=NETWORK), 180).sentence
    assert told.endswith(
        " The link changes during each load: at 0.5 s: outage of 300 ms; at 0.9 s: down MTU 1280 "
        "B, the NAT gives UDP another port."
    )
    assert "changes" not in answer(structs.replace(cell, clock=NETWORK), 180).sentence
