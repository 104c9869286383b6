"""An honest load over a link that changes is valid; each lie about its changes is found."""

import pytest
from msgspec import structs

import made
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.steps import LinkChange, LinkStep
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import LinkReport, PhaseReport, Timeline, Visit
from dragstrip.verdict.judge import judge
from dragstrip.verdict.study_checks import Losses
from dragstrip.visit.course import flight_bytes, idle_ms
from dragstrip.visit.ideal import ideal_ms

BOTH = Direction(rate_mbps=8, delay_ms=37, queue_ms=200)
MOVING = Network(
    name="LTE",
    down=BOTH,
    up=BOTH,
    at=(
        LinkStep(t_ms=200, down=LinkChange(rate_mbps=1)),
        LinkStep(t_ms=400, outage_ms=100),
        LinkStep(t_ms=700, down=LinkChange(delay_ms=90), queue="dropped"),
    ),
)
TIMES = (-3, 200, 400, 500, 700)
"""When the phases of the network begin, in ms after the navigation."""


def report(**changes):
    still = {"packets_in": 90, "packets_out": 90, "bytes_in": 9000, "bytes_out": 9000}
    still |= {"far_ends": (), "queue_max_ms": 1.0, "line_ms": 9.0}
    return made.direction(**still | changes)


def silent(**changes):
    """A direction on which nothing crossed."""
    nothing = {"packets_out": 0, "bytes_out": 0, "line_ms": 0.0, "line_bytes": 0}
    return report(**{**nothing, "transit_min_ms": None, "lateness_max_us": None} | changes)


def phases(**changed: dict[str, object]) -> tuple[PhaseReport, ...]:
    """The phases that an honest link reports. `changed` are fields of `down` by ``phase_N``."""
    downs = (
        {"line_bytes": 9000},
        {"line_bytes": 9000, "line_ms": 72.0},
        None,
        {"line_bytes": 9000, "line_ms": 72.0},
        {
            "line_bytes": 9000,
            "line_ms": 72.0,
            "transit_min_ms": 90.1,
            "flight_min_ms": 90.0,
            "dropped_handover": 12,
        },
    )
    found = []
    for place, (at_ms, down) in enumerate(zip(TIMES, downs, strict=True)):
        lies = changed.get(f"phase_{place}", {})
        up = silent() if down is None else report(line_bytes=9000)
        told = silent(**lies) if down is None else report(**{**down, **lies})
        at_us = 1_000_000_000 + round(at_ms * 1000)
        found.append(PhaseReport(at_us=at_us, up=up, down=told))
    return tuple(found)


def load(
    seen: tuple[PhaseReport, ...] | None = None, timeline: Timeline | None = None, **changes: object
) -> Visit:
    seen = phases() if seen is None else seen
    down = made.direction(line_ms=234.0, line_bytes=36_000, dropped_handover=12, timeline=timeline)
    link = LinkReport(down=down, up=made.direction(), phases=seen)
    return made.visit("h2", link=link, **changes)


def said(visit: Visit, network: Network = MOVING) -> str:
    reasons = judge(visit, made.PAGE, network, made.STACKS["h2"], DEFAULTS)
    return "; ".join(reason.detail for reason in reasons if reason.code == "link-drift")


def test_a_right_load_over_a_link_that_changes_is_valid():
    assert judge(load(), made.PAGE, MOVING, made.STACKS["h2"], DEFAULTS) == ()


def test_steps_after_the_visit_s_end_need_not_come():
    late = structs.replace(MOVING, at=(*MOVING.at, LinkStep(t_ms=5000, up=LinkChange(loss=0.5))))
    assert said(load(), late) == ""
    soon = structs.replace(MOVING, at=(*MOVING.at, LinkStep(t_ms=850, up=LinkChange(loss=0.5))))
    assert said(load(), soon) == ""


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_a_step_that_never_came_is_found(kept):
    assert "never came" in said(load(phases()[:kept]))


def test_a_link_without_phases_never_changed():
    assert "at[0], asked for at 200 ms, never came" in said(load(()))


@pytest.mark.parametrize("off_ms", [-21, 21, 500])
def test_a_step_at_another_time_is_found(off_ms):
    seen = list(phases())
    seen[4] = structs.replace(seen[4], at_us=seen[4].at_us + off_ms * 1000)
    assert f"came at {700 + off_ms}.0 ms" in said(load(tuple(seen)))


@pytest.mark.parametrize("off_ms", [-19, 19])
def test_a_browser_may_begin_to_navigate_a_little_later(off_ms):
    seen = [structs.replace(p, at_us=p.at_us + off_ms * 1000) for p in phases()]
    assert said(load(tuple(seen))) == ""


def test_a_step_that_no_one_asked_for_is_found():
    steady = structs.replace(MOVING, at=())
    assert "changed 4 times more" in said(load(), steady)
    seen = phases()
    assert "changed 1 times more" in said(load((*seen, seen[-1])))


@pytest.mark.parametrize(
    ("phase", "lie", "words"),
    [
        (1, {"line_ms": 9.0}, "from 200 ms on: the line carried 9000 bytes at 8.000 Mbit/s, not 1"),
        (1, {"line_ms": 36.0}, "at 2.000 Mbit/s, not 1"),
        (0, {"line_ms": 72.0}, "from 0 ms on: the line carried 9000 bytes at 1.000 Mbit/s, not 8"),
        (4, {"transit_min_ms": 37.1, "flight_min_ms": 37.0}, "in 37.100 ms, the delay is 90 ms"),
        (4, {"flight_min_ms": 120.0}, "120.000 ms beyond the bottleneck, the delay is 90 ms"),
        (2, {"packets_out": 5}, "5 packets crossed the link in an outage"),
        (3, {"dropped_handover": 3}, "from 500 ms on: 3 packets were dropped with their queue"),
        (4, {"dropped_nat": 3}, "3 packets were dropped by a NAT"),
        (1, {"dropped_loss": 1, "loss_trials": 90}, "1 of 91 packets were lost at random; 0.00%"),
        (1, {"marked": 4}, "4 packets were marked, which the network does not ask for"),
    ],
)
def test_a_step_by_another_amount_is_found(phase, lie, words):
    assert words in said(load(phases(**{f"phase_{phase}": lie})))


def test_bytes_that_left_in_an_outage_are_found_by_the_timeline():
    inside = Timeline(start_us=1_000_000_000, slot_us=1000, slots=((300, 99, 0), (460, 1500, 0)))
    assert "1500 bytes left the link within 1 ms in an outage" in said(load(timeline=inside))
    flying = Timeline(start_us=1_000_000_000, slot_us=1000, slots=((430, 1500, 0),))
    assert said(load(timeline=flying)) == "", "what had left the queue arrives"


def test_bytes_faster_than_a_step_allows_are_found_by_the_timeline():
    slots = tuple((place, 1500, 0) for place in range(300, 390))
    fast = Timeline(start_us=1_000_000_000, slot_us=1000, slots=slots)
    assert "at 1 Mbit/s" in said(load(timeline=fast))
    slots = tuple((place, 125, 0) for place in range(300, 390))
    right = Timeline(start_us=1_000_000_000, slot_us=1000, slots=slots)
    assert said(load(timeline=right)) == ""


def test_a_link_that_becomes_faster_makes_no_load_impossible():
    slow = Direction(rate_mbps=0.1, delay_ms=300)
    faster = LinkChange(rate_mbps=100, delay_ms=1)
    network = Network(
        name="LTE", down=slow, up=slow, at=(LinkStep(t_ms=100, down=faster, up=faster),)
    )
    reasons = judge(made.visit("h2"), made.PAGE, network, made.STACKS["h2"], DEFAULTS)
    assert "impossible" not in {reason.code for reason in reasons}


def test_a_load_faster_than_every_phase_allows_is_impossible():
    slower = LinkStep(t_ms=100, down=LinkChange(rate_mbps=0.1))
    network = structs.replace(MOVING, at=(slower,))
    reasons = judge(made.visit("h2"), made.PAGE, network, made.STACKS["h2"], DEFAULTS)
    assert "impossible" in {reason.code for reason in reasons}


def test_the_ideal_follows_the_link():
    visit = made.visit("h2")
    steady = ideal_ms(visit, structs.replace(MOVING, at=()), made.STACKS["h2"])
    slower = structs.replace(MOVING, at=(LinkStep(t_ms=100, down=LinkChange(rate_mbps=0.5)),))
    moving = ideal_ms(visit, slower, made.STACKS["h2"])
    assert steady < moving


def test_an_outage_is_no_pause_of_the_sender():
    visit = load(timeline=Timeline(start_us=1_000_000_000, slot_us=1000, slots=((240, 99, 0),)))
    whole = structs.replace(MOVING, at=(LinkStep(t_ms=250, outage_ms=600),))
    steady = structs.replace(MOVING, at=())
    assert idle_ms(visit, whole, "down") < idle_ms(visit, steady, "down")
    assert flight_bytes(visit, whole, "down") is None


def test_losses_over_a_study_are_summed_by_phase():
    network = structs.replace(MOVING, at=(LinkStep(t_ms=200, down=LinkChange(loss=0.5)),))
    losses = Losses()
    for seed in range(20):
        lossy = {"dropped_loss": 500, "loss_trials": 1000, "packets_out": 500}
        seen = (
            PhaseReport(at_us=1_000_000_000, up=report(), down=report()),
            PhaseReport(at_us=1_000_200_000, up=report(), down=report(**lossy)),
        )
        losses.add(structs.replace(load(seen), seed=seed), ())
    assert not list(losses.reasons(network, DEFAULTS))
    steady = structs.replace(network, at=(LinkStep(t_ms=200, down=LinkChange(loss=0.4)),))
    assert "from 200 ms on" in next(losses.reasons(steady, DEFAULTS)).detail
