"""Parts of a study become one: everything once, nothing paired that was made apart, or nothing."""

import fcntl

import pytest
from msgspec import structs

import made
import made_capsule
from dragstrip.conduct.merge import merge
from dragstrip.conduct.shard import Shard
from dragstrip.results.capsule import Capsule, CapsuleError
from dragstrip.results.compare.stacks import compare
from dragstrip.results.manifest import Manifest

RUNS, PARTS = 40, 16


def of(**changes: object):
    return structs.replace(made_capsule.study(), runs=RUNS, **changes)


def visits(study, blocks, off: float = 0.0):
    for number, block in enumerate(study.blocks()):
        if blocks(block):
            for stack, plt_ms in (("h2", 1000.0), ("h3", 900.0)):
                visit = made.visit(made.STACKS[stack].protocol, block=block.id)
                plt_ms += number % 7 + off
                yield structs.replace(visit, stack=stack, plt_ms=plt_ms, seed=block.seed)


def write(folder, study, found, start=made_capsule.START):
    with Capsule.create(folder, Manifest(study=study, starts=(start,))) as capsule:
        for visit in found:
            capsule.append(visit)
            (folder / "har").mkdir(exist_ok=True)
            (folder / "har" / f"{visit.file_name}.har").write_text(visit.id)
    return folder


def shard(tmp_path, number: int, of_: int = PARTS, study=None):
    study = study or of()
    share = visits(study, Shard(number, of_).blocks(study))
    return write(tmp_path / f"part{number}", study, share)


def test_sixteen_shards_are_the_whole(tmp_path):
    whole = write(tmp_path / "whole", of(), visits(of(), lambda _: True))
    parts = [shard(tmp_path, n) for n in range(1, PARTS + 1)]
    found = merge(parts, tmp_path / "merged")
    assert (found.visits, found.blocks, found.copies, found.dropped) == (2 * RUNS, RUNS, 0, ())
    mine, theirs = (
        {v.key: v for v in Capsule.open(p).visits()} for p in (tmp_path / "merged", whole)
    )
    assert mine == theirs
    archives = sorted(p.name for p in (tmp_path / "merged" / "har").iterdir())
    assert archives == sorted(p.name for p in (whole / "har").iterdir())
    answers = [compare(of(), Capsule.open(p).visits()) for p in (tmp_path / "merged", whole)]
    assert answers[0] == answers[1] != []


def test_a_copy_that_went_on_counts_once(tmp_path):
    study = of()
    all_of_it = list(visits(study, lambda _: True))
    begun = write(tmp_path / "begun", study, all_of_it[:11])
    gone_on = write(tmp_path / "on", study, all_of_it)
    found = merge([begun, gone_on], tmp_path / "merged")
    assert (found.visits, found.copies, found.dropped) == (len(all_of_it), 11, ())
    assert list(Capsule.open(tmp_path / "merged").visits()) == list(Capsule.open(gone_on).visits())


def test_what_was_made_apart_is_never_paired(tmp_path):
    study = of()
    here = list(visits(study, lambda _: True))[:3]  # the second block lacks h3
    there = list(visits(study, lambda _: True, off=50.0))[:4]
    found = merge(
        [write(tmp_path / "a", study, here), write(tmp_path / "b", study, there)],
        tmp_path / "merged",
    )
    blocks = list(dict.fromkeys(v.block for v in here))
    assert found.dropped == tuple(blocks)
    assert [v.plt_ms for v in Capsule.open(tmp_path / "merged").visits()] == [
        *(v.plt_ms for v in here if v.block == blocks[0]),
        *(v.plt_ms for v in there if v.block == blocks[1]),
    ]


def _other_rules(tmp_path):
    older = structs.replace(made_capsule.START, rules=made_capsule.START.rules - 1)
    return write(tmp_path / "b", of(), [], older)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda path: write(path / "b", of(seed=8), []), "different study.*seed"),
        (
            lambda path: write(
                path / "b", of(pages=(structs.replace(made.study().pages[0], digest="f" * 64),)), []
            ),
            "different study.*pages",
        ),
        (_other_rules, "made under rules"),
    ],
)
def test_what_does_not_belong_together_is_refused(other, said, tmp_path):
    a = shard(tmp_path, 1)
    with pytest.raises(CapsuleError, match=said):
        merge([a, other(tmp_path)], tmp_path / "merged")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "part1"]


def test_a_part_that_is_still_written_is_refused(tmp_path):
    a, b = shard(tmp_path, 1), shard(tmp_path, 2)
    with (b / "journal.jsonl").open("rb") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        with pytest.raises(CapsuleError, match=r"part2.*still writing"):
            merge([a, b], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_nothing_is_written_over(tmp_path):
    a, b = shard(tmp_path, 1), shard(tmp_path, 2)
    with pytest.raises(CapsuleError, match="exists already"):
        merge([a, b], b)
    with pytest.raises(CapsuleError, match="given twice"):
        merge([a, a], tmp_path / "merged")
