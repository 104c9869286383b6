"""A network whose link changes during a load."""

import pytest

from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.effects import Direction
from dragstrip.model.network import STEP_SLACK_MS, Network
from dragstrip.model.steps import LinkChange, LinkStep

BOTH = Direction(rate_mbps=8, delay_ms=10, queue_ms=200)
"""1000 bytes in a millisecond."""


def moving(*steps: LinkStep) -> Network:
    return Network(name="moving", down=BOTH, up=BOTH, at=steps)


def test_a_network_without_steps_has_one_phase():
    (phase,) = moving().phases
    assert (phase.start_ms, phase.down, phase.up) == (0, BOTH, BOTH)


def test_steps_add_up():
    phases = moving(
        LinkStep(t_ms=2000, down=LinkChange(rate_mbps=1)),
        LinkStep(t_ms=3000, down=LinkChange(delay_ms=50), up=LinkChange(loss=0.1)),
    ).phases
    assert [p.start_ms for p in phases] == [0, 2000, 3000]
    assert [(p.down.rate_mbps, p.down.delay_ms) for p in phases] == [(8, 10), (1, 10), (1, 50)]
    assert [p.up.loss for p in phases] == [0, 0, 0.1]


def test_an_outage_ends_in_the_link_that_it_began_with():
    phases = moving(
        LinkStep(t_ms=2000, outage_ms=500, outage="up", up=LinkChange(rate_mbps=2))
    ).phases
    assert [(p.start_ms, sorted(p.out), p.up.rate_mbps) for p in phases] == [
        (0, [], 8),
        (2000, ["up"], 2),
        (2500, [], 2),
    ]
    assert [p.step for p in phases] == [None, 0, None]


def test_a_step_may_begin_where_an_outage_ends():
    phases = moving(
        LinkStep(t_ms=2000, outage_ms=500), LinkStep(t_ms=2500, down=LinkChange(rate_mbps=1))
    ).phases
    assert [(p.start_ms, sorted(p.out)) for p in phases] == [
        (0, []),
        (2000, ["down", "up"]),
        (2500, []),
    ]


def test_a_handover_drops_the_queues_that_it_changes():
    handover = LinkStep(t_ms=100, down=LinkChange(rate_mbps=1), queue="dropped")
    assert moving(handover).phases[1].drops == {"down"}
    assert moving(LinkStep(t_ms=100, queue="dropped")).phases[1].drops == {"down", "up"}
    assert not moving(LinkStep(t_ms=100, down=LinkChange(rate_mbps=1))).phases[1].drops


def test_what_replaces_another_field_takes_its_place():
    depth = LinkChange(queue_packets=5).applied(BOTH)
    assert (depth.queue_ms, depth.queue_packets) == (None, 5)
    bursts = LinkChange(gilbert_elliott=GilbertElliott(p=0.1, r=0.5))
    lossy = LinkChange(loss=0.5).applied(bursts.applied(BOTH))
    assert (lossy.loss, lossy.gilbert_elliott) == (0.5, None)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            [
                LinkStep(t_ms=2000, down=LinkChange(rate_mbps=1)),
                LinkStep(t_ms=2000, up=LinkChange(rate_mbps=1)),
            ],
            r"at\[1\]: begins at 2000 ms, not after at\[0\] \(2000 ms\): give steps in order",
        ),
        (
            [LinkStep(t_ms=3000, queue="dropped"), LinkStep(t_ms=2000, queue="dropped")],
            r"at\[1\]: begins at 2000 ms, not after at\[0\]",
        ),
        (
            [LinkStep(t_ms=2000, outage_ms=800), LinkStep(t_ms=2500, rebind="port")],
            r"at\[1\]: begins at 2500 ms, in the outage of at\[0\], which ends at 2800 ms",
        ),
        (
            [LinkStep(t_ms=1, down=LinkChange(rate_mbps=-1))],
            r"at\[0\].down: rate_mbps must be above",
        ),
        ([LinkStep(t_ms=1, up=LinkChange(loss=2))], r"at\[0\].up: loss must be a share"),
    ],
)
def test_steps_without_sense_are_named(steps, said):
    with pytest.raises(ValueError, match=said):
        moving(*steps)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"t_ms": 0, "rebind": "port"}, "t is 0 ms: give more than 0"),
        ({"t_ms": -5, "rebind": "port"}, "t is -5 ms"),
        ({"t_ms": float("nan"), "rebind": "port"}, "give more than 0"),
        ({"t_ms": 5}, "changes nothing"),
        ({"t_ms": 5, "outage_ms": 0}, "outage_ms must be above zero"),
        ({"t_ms": 5, "outage": "up", "rebind": "port"}, "outage is of outage_ms"),
        ({"t_ms": 5, "tcp": "dropped", "queue": "dropped"}, "tcp is of rebind"),
        ({"t_ms": 5, "down": LinkChange()}, "down changes nothing"),
    ],
)
def test_a_step_without_sense_is_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        LinkStep(**fields)


def test_a_description_says_every_step():
    network = moving(
        LinkStep(t_ms=2000, down=LinkChange(rate_mbps=1, queue_ms=50), queue="dropped"),
        LinkStep(t_ms=5000, outage_ms=800, outage="up"),
        LinkStep(t_ms=7500, rebind="address", tcp="dropped"),
        LinkStep(t_ms=8000, up=LinkChange(loss=0.01), queue="kept"),
    )
    assert network.describe().endswith(
        "at 2 s: down 1 Mbit/s, queue 50 ms, down queue dropped; at 5 s: outage up of 800 ms; "
        "at 7.5 s: the NAT gives UDP another address, TCP's too; at 8 s: up loss 1 %"
    )


def test_bounds_are_those_of_the_best_phase():
    network = moving(
        LinkStep(t_ms=2000, down=LinkChange(delay_ms=100)),
        LinkStep(t_ms=3000, down=LinkChange(delay_ms=4)),
    )
    assert (network.rtt_ms, network.least_rtt_ms) == (20, 14)
    assert moving(LinkStep(t_ms=9, outage_ms=500)).longest_rtt_ms == 520
    assert moving(LinkStep(t_ms=9, down=LinkChange(loss=0.1))).chance


def test_bytes_cross_at_the_rate_of_their_time():
    network = moving(
        LinkStep(t_ms=1000, down=LinkChange(rate_mbps=0.8)), LinkStep(t_ms=5000, outage_ms=1000)
    )
    fast = 1000 + STEP_SLACK_MS
    assert network.crossed_ms("down", 100, 500_000) == pytest.approx(600)
    assert network.crossed_ms("up", 100, 3_000_000) == pytest.approx(3100)
    size = (fast - 100) * 1000 + 100_000
    assert network.crossed_ms("down", 100, size) == pytest.approx(fast + 1000)
    whole = (fast - 100) * 1000 + (5000 + STEP_SLACK_MS - fast) * 100
    assert network.crossed_ms("down", 100, whole + 100) == pytest.approx(6001 - STEP_SLACK_MS)


def test_an_unlimited_phase_carries_all():
    free = Network(
        name="free",
        down=Direction(delay_ms=5),
        up=Direction(delay_ms=5),
        at=(LinkStep(t_ms=100, down=LinkChange(rate_mbps=1)),),
    )
    assert free.crossed_ms("down", 10, 1e9) == 10
    assert free.crossed_ms("down", 400, 1000) == pytest.approx(408)
