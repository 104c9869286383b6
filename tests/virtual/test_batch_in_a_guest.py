"""The blocks of a guest are equal to the byte, however the study is split."""

import hashlib
from pathlib import Path

import pytest

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK, PRICED, Clock
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.schedule.batch import batches
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_replays import LOSSY


def study(cache: Path, client: str, runs: int, clock: Clock) -> Study:
    return StudySpec(
        name="batch",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=loaded_by([find_stack("h2"), find_stack("h3")], client),
        runs=runs,
        seed=3,
        client=Client(pcap=True),
        clock=clock,
    ).resolve(cache)


def visits(out: Path) -> list[Visit]:
    return list(Capsule.open(out).visits())


def seen(out: Path) -> dict[str, str]:
    """Hashes of packets by file, and of visits by block and stack."""
    packets = {f.name: f.read_bytes() for f in (out / "pcap").glob("*.pcapng")}
    told = {f"{v.block} {v.stack}": repr(v).encode() for v in visits(out)}
    return {name: hashlib.sha256(said).hexdigest() for name, said in (packets | told).items()}


@pytest.mark.parametrize(
    ("client", "runs", "clock"),
    [("browser", 3, NETWORK), ("browser", 3, PRICED), ("loader", 5, NETWORK)],
)
def test_a_cut_study_resumes_to_the_same_bytes_and_so_does_one_that_grows(
    tmp_path, client, runs, clock
):
    of = study(tmp_path, client, runs, clock)
    assert len(batches(of)[0]) > 2
    make_visits(of, tmp_path / "whole", RunOptions(jobs=2))
    whole = seen(tmp_path / "whole")
    assert len(whole) == 4 * runs
    assert all(v.valid for v in visits(tmp_path / "whole"))

    grown = tmp_path / "grown"
    make_visits(study(tmp_path, client, 1, clock), grown)
    make_visits(of, grown)  # begins in the middle of a batch
    assert seen(grown) == whole

    journal = grown / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:1] + lines[3:]))  # what is lost is in two blocks
    make_visits(of, grown)
    assert seen(grown) == whole
