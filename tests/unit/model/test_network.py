"""Networks as people write them, and which of them are refused."""

from pathlib import Path
from typing import get_args

import pytest

from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.effects import COUNTS, EFFECTS, STAGES, Counters, Direction, Stage
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.study.networks import read_network
from dragstrip.study.presets import find_network, networks


def read(**table: object) -> Network:
    return read_network("made", {"down": {}, "up": {}} | table, Path())


def test_two_way_loss_becomes_that_of_each_direction():
    network = read(two_way_loss=0.033)
    # wolsing2019 table 2, DA2GC: 3.3 % two-way is 1.664 % each way.
    assert network.up.loss == network.down.loss == pytest.approx(0.01664, abs=5e-6)
    assert network.two_way_loss == pytest.approx(0.033)
    typed = find_network("1mbit/1mbit/10ms/3.3% two-way/200ms")
    assert typed.down.loss == network.down.loss


def test_a_short_network_is_symmetric_and_loses_nothing():
    network = find_network("100mbit/50ms")
    assert network.down == network.up
    assert network.up == Direction(rate_mbps=100, delay_ms=50, queue_ms=200)
    with pytest.raises(InputError, match="100mbit/50ms"):
        find_network("100mbit/50ms/1%")


def test_a_trace_is_read_beside_the_file_and_kept_whole(tmp_path):
    (tmp_path / "some.txt").write_text("1\n2\n9\n")
    network = read_network("made", {"down": {"trace": "some.txt"}, "up": {}}, tmp_path)
    assert network.down.trace
    assert network.down.trace.opportunities_ms == (1, 2, 9)
    assert (
        f"4 Mbit/s on average (trace some.txt, {network.down.trace.digest})" in network.describe()
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"two_way_loss": 2}, "two_way_loss: 2 is not a share"),
        ({"two_way_loss": "x"}, "two_way_loss: 'x' is not a share"),
        ({"two_way_loss": 0.1, "up": {"loss": 0.1}}, "two_way_loss: it sets the loss of both"),
        ({"down": {"trace": "no.txt"}}, "down.trace: trace no.txt: no such file"),
        ({"down": {"lose": 1}}, "down: unknown key `lose`; docs/reference/study.md has all"),
        ({"down": {"rate_mbps": 1, "queue_ms": 9, "queue_bytes": 9}}, "down: queue_ms and queue_b"),
        ({"up": {"aqm": {"kind": "codel"}}}, "up: aqm manages the queue of a rate or trace"),
        ({"up": {"aqm": {"kind": "blue"}, "rate_mbps": 1}}, "up.aqm.kind: Invalid value 'blue'"),
        ({"up": {"aqm": {"kind": "red", "min_bytes": 9, "max_bytes": 9}}}, "up.aqm: min_bytes mus"),
        ({"up": {"aqm": {"kind": "dualpi2", "coupling": 0}}}, "up.aqm: coupling must lie between"),
        ({"up": {"reorder": 0.1}}, "up: reorder sends packets ahead of the delay"),
        ({"up": {"loss": 0.1, "stages": ["queue"]}}, "up: stages lacks 'loss'"),
        ({"up": {"stages": ["queue", "queue"]}}, "up: stages names a stage twice"),
        ({"up": {"gilbert_elliott": {"p": 0, "r": 0}}}, "up.gilbert_elliott: p and r must add up"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_place(table, said):
    with pytest.raises(InputError) as error:
        read(**table)
    assert str(error.value).startswith(said)


def test_a_network_of_old_fields_is_described_as_ever():
    # A capsule is continued only if its networks are described alike.
    assert networks()["LTE"].describe() == (
        "down 10.5 Mbit/s, up 2.8 Mbit/s; one-way delay 37/37 ms (round trip 74 ms); "
        "loss 0/0 % (two-way 0 %); droptail queue 200 ms/200 ms"
    )


def test_every_field_that_differs_shows_in_the_description():
    plain = Direction(rate_mbps=1, delay_ms=10)
    base = Network(name="x", down=plain, up=plain).describe()
    for change in ({"queue_bytes": 9}, {"queue_packets": 9}, {"stages": STAGES["up"]}):
        changed = Direction(rate_mbps=1, delay_ms=10, **change)
        assert Network(name="x", down=changed, up=plain).describe() != base, change
    assert Network(name="x", down=plain, up=plain, accounting="l2").describe() != base


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: "+".join(effect.example))
def test_an_effect_is_wanted_described_counted_and_placed_where_it_is_asked_for(effect):
    plain = Direction()
    asked = Direction(**effect.example)
    assert not effect.wanted(plain)
    assert effect.wanted(asked)
    assert list(effect.says(plain)) == []
    (side, *_) = effect.sides
    both = (
        Network(name="x", **{"down": plain, "up": plain, side: one}).describe()
        for one in (plain, asked)
    )
    assert len({*both}) == 2
    for count in effect.counts:
        assert not count.wanted(plain)
        assert count.wanted(asked)
    if effect.stage:
        rest = tuple(stage for stage in STAGES["down"] if stage != effect.stage)
        with pytest.raises(ValueError, match=f"stages lacks '{effect.stage}'"):
            Direction(**effect.example, stages=rest)


def test_every_place_and_counter_belongs_to_an_effect():
    assert {effect.stage for effect in EFFECTS if effect.stage} == {*get_args(Stage)}
    assert [{*order} for order in STAGES.values()] == [{*get_args(Stage)}] * 2
    assert {count.field for count in COUNTS} == {*Counters.__struct_fields__}


def test_bounds_of_delay_follow_jitter_and_reordering():
    assert Direction(delay_ms=10, jitter_ms=3).least_delay_ms == 7
    assert Direction(delay_ms=10, jitter_ms=3).most_delay_ms == 13
    assert Direction(delay_ms=10, jitter_ms=3, jitter_shape="normal").least_delay_ms == 0
    assert Direction(delay_ms=10, reorder=0.1).least_delay_ms == 0


def test_gilbert_elliott_knows_its_long_run():
    chain = GilbertElliott(p=0.01, r=0.25, loss_bad=0.8)
    assert chain.loss == pytest.approx(0.8 * 0.01 / 0.26)
