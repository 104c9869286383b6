"""Cells drawn from ranges: evenly, always the same, and cut off anywhere."""

from collections import Counter
from math import log

import pytest
from msgspec import structs

import made
from dragstrip.conduct.shard import Shard
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.schedule.batch import batches
from dragstrip.study.file import read_spec, read_study
from dragstrip.study.sample import Sample, draw

SAMPLE = Sample(
    cells=256,
    down_mbps=(1, 100),
    rtt_ms=(10, 400),
    loss=(0.001, 0.03),
    lossless=0.4,
    queue_ms=(10, 800),
    page_bytes=(10e3, 1e6),
    objects=(1, 64),
    up_share=0.5,
)
STUDY = """
stacks = ["h2", "h3"]
client = "loader"
runs = 1
seed = 4
[clock]
kind = "network"
[sample]
cells = 12
down_mbps = [1, 100]
rtt_ms = [10, 400]
loss = [0.001, 0.03]
queue_ms = [10, 800]
page_bytes = [1e3, 20e3]
objects = [1, 4]
per_guest = 4
"""
PUBLISHED = [
    "synth:3x174763B 2.05mbit/1.02mbit/43.9ms/0.324%/28.9ms",
    "synth:45x1456B 24.2mbit/12.1mbit/17.5ms/0%/157ms",
]


def test_any_first_part_covers_every_range_evenly():
    for many in (32, 64, 256):
        cells = draw(SAMPLE, 1)[:many]
        quarters = Counter(int(4 * log(c.network.down.rate_mbps) / log(100.01)) for c in cells)
        assert set(quarters) == {0, 1, 2, 3}
        assert max(quarters.values()) - min(quarters.values()) <= 2
        lossless = sum(c.network.down.loss == 0 for c in cells) / many
        assert lossless == pytest.approx(0.4, abs=0.04)


def test_more_cells_continue_the_same_sequence_and_another_seed_draws_others():
    few, many = draw(structs.replace(SAMPLE, cells=50), 1), draw(SAMPLE, 1)
    assert many[:50] == few
    assert draw(SAMPLE, 2)[:50] != few


def test_the_sequence_is_the_one_of_the_published_map():
    """A new SciPy that draws another would continue no old capsule."""
    assert [f"{c.page} {c.network.name}" for c in draw(SAMPLE, 1)[:2]] == PUBLISHED


def test_every_value_is_within_its_range():
    for cell in draw(SAMPLE, 3):
        down, up = cell.network.down, cell.network.up
        assert 0.999 <= down.rate_mbps <= 100.1
        assert up.rate_mbps == pytest.approx(down.rate_mbps / 2, rel=0.01)
        assert 4.99 <= down.delay_ms == up.delay_ms <= 200.1
        assert down.loss == 0 or 0.000999 <= down.loss <= 0.0301
        assert 9.99 <= down.queue_ms <= 801


@pytest.mark.parametrize(
    ("field", "value"),
    [("loss", (0, 0.1)), ("rtt_ms", (9, 3)), ("cells", 0), ("objects", (0.5, 3)), ("up_share", 0)],
)
def test_nonsense_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        structs.replace(SAMPLE, **{field: value})


def test_a_study_of_a_sample_visits_its_cells_in_their_order(tmp_path):
    file = tmp_path / "map.toml"
    file.write_text(STUDY)
    study = read_study(file, tmp_path / "pages")
    drawn = draw(read_spec(file).sample, 4)
    assert [b.network for b in study.blocks()] == [d.network.name for d in drawn]
    assert [b.page for b in study.blocks()] == [d.page.replace(":", "-") for d in drawn]
    blocks = list(study.blocks())
    assert batches(study) == [tuple(blocks[:4]), tuple(blocks[4:8]), tuple(blocks[8:])]
    part = study.part(blocks[4:8])
    assert part.cells() == [b.cell for b in blocks[4:8]]
    assert len(part.networks) == 4


def test_batches_are_for_virtual_time_and_stay_whole_in_shards(tmp_path):
    file = tmp_path / "map.toml"
    file.write_text(STUDY)
    study = read_study(file, tmp_path / "pages")
    mine = Shard(1, 2).blocks(study)
    assert [mine(b) for b in study.blocks()] == [True] * 4 + [False] * 4 + [True] * 4
    real = structs.replace(study, clock=made.study().clock)
    assert {len(batch) for batch in batches(real)} == {1}
    assert study.clock == NETWORK


@pytest.mark.parametrize("more", ['pages = ["demo"]\n', 'networks = ["LTE"]\n'])
def test_a_sample_stands_in_place_of_pages_and_networks(tmp_path, more):
    file = tmp_path / "map.toml"
    file.write_text(more + STUDY)
    with pytest.raises(InputError, match="sample"):
        read_spec(file)
    file.write_text(more + STUDY.partition("[sample]")[0])
    with pytest.raises(InputError, match="name at least one, or give a"):
        read_spec(file)
