"""Controls and stopping on made visits whose truth is known."""

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

import made
from dragstrip.model.study import Slow, Stopping, Study
from dragstrip.model.visit import Reason, Visit
from dragstrip.report.data.controls import judgement
from dragstrip.results.blocks import trials
from dragstrip.results.compare.controls import Control, controls
from dragstrip.results.compare.stopping import saving, stop_rule
from dragstrip.results.compare.summary import summarise
from dragstrip.results.manifest import Manifest
from dragstrip.schedule.schedule import Schedule
from dragstrip.study.controls import HELD, SAME, controls_of
from dragstrip.study.presets import find_stack
from dragstrip.study.servers import read_server

STACKS = (made.STACKS["h2"], made.STACKS["h3"])
RTT_MS = made.LTE.rtt_ms


def study(runs: int = 20, pages: int = 1) -> Study:
    names = tuple(f"page{i}" for i in range(pages))
    plain = structs.replace(made.study(runs=runs, pages=names), stacks=STACKS)
    return structs.replace(plain, controls=controls_of(STACKS))


def made_visits(
    of: Study, spread: float, effects: dict[str, float], held_ms: float = RTT_MS, luck: int = 1
) -> Iterator[Visit]:
    """Times around 1000 ms (first byte 236 ms), lognormal with this spread; `effects` multiply, the
    held stack is `held_ms` later."""
    draw = random.Random(luck)
    for block in of.blocks():
        for stack in block.order:
            late = held_ms if stack == HELD else 0.0
            factor = effects.get(stack, 1.0) * math.exp(draw.gauss(0, spread))
            yield made.visit(
                of.stack(stack).protocol,
                block=block.id,
                page=block.page,
                stack=stack,
                plt_ms=1000 * factor + late,
                ttfb_ms=236 * factor + late,
                fcp_ms=None,
            )


def by_metric(of: Study, visits: list[Visit]) -> dict[str, Control]:
    return {control.metric: control for control in controls(of, made.table(of, visits))}


def test_controls_of_an_honest_testbed():
    of = study(runs=10, pages=30)
    found = by_metric(of, list(made_visits(of, 0.02, {"h3": 1.3})))
    for metric in ("plt_ms", "ttfb_ms"):
        at_5, at_1 = found[metric].alarms
        assert (at_5.comparisons, at_5.alpha, at_1.alpha) == (30, 0.05, 0.01)
        assert at_5.alarms <= 6
        # Differences of two lognormal values spread by 0.02: 1.96 * sqrt(2) * 0.02.
        assert found[metric].floor == pytest.approx(0.057, rel=0.15)
        assert (found[metric].held, found[metric].found) == (30, 30)
    assert found["ttfb_ms"].effect_rtts == pytest.approx(1, abs=0.05)
    # n = 10 blocks find 0.996 standard deviations with 80 % power at 5 %.
    assert found["plt_ms"].least == pytest.approx(0.996 * math.sqrt(2) * 0.02, rel=0.15)
    assert found["fcp_ms"] == Control(metric="fcp_ms")


def test_controls_of_a_server_that_a_study_brings():
    """Such a stack holds tables, so it cannot be hashed."""
    mine = read_server("mine", {"base": "nginx", "config": "daemon off;"}, Path())
    first = structs.replace(find_stack("nginx-h2"), name="mine-h2", server="mine", brought=mine)
    plain = structs.replace(study(runs=3), stacks=(first, STACKS[1]))
    of = structs.replace(plain, controls=controls_of((first,)))
    assert by_metric(of, list(made_visits(of, 0.02, {})))["plt_ms"].blocks == 3


def test_a_testbed_with_false_alarms_or_misses_is_found_out():
    of = study(runs=10, pages=20)
    wolf = by_metric(of, list(made_visits(of, 0.02, {SAME: 1.1})))["plt_ms"]
    assert (wolf.alarms[0].alarms, wolf.alarms[1].alarms) == (20, 20)
    deaf = by_metric(of, list(made_visits(of, 0.02, {}, held_ms=0)))["ttfb_ms"]
    assert deaf.found <= 3
    assert abs(deaf.effect_rtts) < 0.1


def test_controls_are_no_competitors_but_their_blocks_must_be_valid():
    of = study(runs=1)
    visits = list(made_visits(of, 0.02, {}))
    names = [s.name for s in of.stacks]
    (trial,) = trials(visits, names)
    assert trial.counts
    assert set(trial.visits) == {"h2", "h3"}
    late = (Reason("overloaded", "made up"),)
    spoiled = [structs.replace(v, reasons=late) if v.stack == SAME else v for v in visits]
    (trial,) = trials(spoiled, names)
    assert not trial.counts


def test_controls_are_the_first_stack_again_and_its_responses_held():
    same, held = controls_of(STACKS)
    assert (same.fingerprint, held.hold_rtts) == (STACKS[0].fingerprint, 1)
    assert held.fingerprint != same.fingerprint
    assert [s.name for s in controls_of(STACKS, live=True)] == [SAME]
    caddy = structs.replace(STACKS[0], server="caddy", priorities=False)
    assert [s.name for s in controls_of([caddy])] == [SAME]
    with pytest.raises(ValueError, match="caddy cannot hold"):
        structs.replace(caddy, hold_rtts=1)


def test_a_study_with_controls_is_another_study():
    plain, more = study(), structs.replace(study(), controls=())
    assert Manifest(study=plain, starts=()).differences(Manifest(study=more, starts=()))


def stopping(runs: int, pages: int, looks: tuple[int, ...] = (8, 12, 16, 21, 26)) -> Study:
    return structs.replace(
        study(runs, pages), controls=(), stopping=Stopping(looks=looks, margin=0.05)
    )


def play(of: Study, visits: list[Visit]) -> list[Visit]:
    """Add visits until every cell is decided; return them."""
    known = {(v.block, v.stack): v for v in visits}
    schedule, kept = Schedule(of, stop=stop_rule(of)), []
    while attempt := schedule.take():
        for stack in attempt.stacks:
            kept.append(known[attempt.block.id, stack])
            schedule.add(kept[-1])
    return kept


def test_clear_cells_stop_at_the_first_look_and_unclear_ones_at_the_cap():
    of = stopping(runs=31, pages=3)
    clear = play(of, list(made_visits(of, 0.005, {"h3": 1.3})))
    saved = saving(of, made.table(of, clear))
    assert (saved.made, saved.fixed) == (3 * 8, 3 * 31)
    assert {d.verdict for d in saved.decided} == {"slower"}
    assert all(d.low <= 1.3 <= d.high for d in saved.decided)
    same = saving(of, made.table(of, play(of, list(made_visits(of, 0.02, {})))))
    assert {d.verdict for d in same.decided} == {"equivalent"}
    noisy = saving(of, made.table(of, play(of, list(made_visits(of, 0.5, {}, luck=5)))))
    assert noisy.made == noisy.fixed
    assert {d.verdict for d in noisy.decided} == {"not decided"}


def test_cells_that_take_long_have_fewer_runs():
    of = structs.replace(study(runs=10, pages=3), controls=(), slow=Slow(runs=3))
    slow = {"page0": 10.1, "page1": 9.9, "page2": 1.0}
    visits = [
        structs.replace(v, plt_ms=None, outcome="timeout")
        if (v.page, v.stack) == ("page2", "h3")  # half of its loads stand at the limit
        else structs.replace(v, plt_ms=slow[v.page] * v.plt_ms)
        for v in made_visits(of, 0.0, {})
    ]
    kept = play(of, visits)
    runs = {page: len({v.block for v in kept if v.page == page}) for page in slow}
    assert runs == {"page0": 3, "page1": 10, "page2": 3}
    saved = saving(of, made.table(of, kept))
    assert (saved.slow, saved.made, saved.decided) == (2, 16, ())
    assert list(judgement((), saved)) == ["2 cells took so long to load that they got fewer runs"]
    # A cell without a valid block among its first three has nothing to be judged by.
    lost = [structs.replace(v, reasons=(Reason("overloaded", "made up"),)) for v in visits]
    once = structs.replace(of, reruns=0)
    assert len({v.block for v in play(once, lost)}) == 30


def test_slow_and_decided_cells_end_each_by_their_own_rule():
    of = structs.replace(stopping(runs=31, pages=2), slow=Slow(runs=3, over_s=5))
    visits = [
        structs.replace(v, plt_ms=v.plt_ms * (6 if v.page == "page0" else 1))
        for v in made_visits(of, 0.005, {"h3": 1.3})
    ]
    kept = play(of, visits)
    assert [len({v.block for v in kept if v.page == f"page{i}"}) for i in (0, 1)] == [3, 8]


def test_loads_that_never_end_stop_no_cell_for_equivalence():
    of = stopping(runs=31, pages=1)
    visits = [
        structs.replace(v, outcome="timeout", plt_ms=None) if v.block.endswith("|2") else v
        for v in made_visits(of, 0.01, {})
    ]
    saved = saving(of, made.table(of, play(of, visits)))
    assert saved.decided[0].verdict == "not decided"
    assert saved.made == 31


def test_sentences_and_json_name_floor_alarms_detection_and_saving():
    of = structs.replace(stopping(runs=31, pages=2), controls=controls_of(STACKS))
    visits = play(of, list(made_visits(of, 0.005, {"h3": 0.7})))
    table = made.table(of, visits)
    control, saved = controls(of, table), saving(of, table)
    text = "\n".join(judgement(control, saved))
    assert "controls, first byte: A/A: 95 % of 16 blocks differ by less than" in text
    assert re.search(r"one round trip held: \+(0\.9|1\.0)\d RTT", text)
    assert "found in 2 of 2" in text
    assert "16 blocks instead of 62, 74 % saved" in text
    assert "page0 over LTE: h3 / h2 faster after 8 (0." in text
    summary = summarise("s", visits, [], control, saved)
    assert summary.controls[0].held == 2
    assert "controls" not in msgspec.to_builtins(summarise("s", visits, []))


def test_controls_in_some_blocks_tell_what_a_cell_finds_with_all_of_its_blocks():
    of = study(runs=40, pages=6)
    some = structs.replace(of, controls_every=4)
    whole, few = (
        by_metric(each, list(made_visits(each, 0.01, {})))["plt_ms"] for each in (of, some)
    )
    assert (whole.blocks, few.blocks) == (240, 60)
    assert few.floor == pytest.approx(whole.floor, rel=0.4)
    assert few.least == pytest.approx(whole.least, rel=0.4)
    assert few.effect_rtts == pytest.approx(1, abs=0.05)


def test_a_study_without_controls_or_stopping_does_not_mention_them():
    of = made.study()
    table = made.table(of, [])
    assert list(judgement(controls(of, table), saving(of, table))) == []
    assert stop_rule(of) is None
