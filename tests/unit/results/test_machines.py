"""The comparison names machines that disagree, but no machine that is only slower."""

import random

from msgspec import structs

import made
import made_capsule
from dragstrip.report.words.machines import sentence
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.machines import machines
from dragstrip.results.manifest import Manifest
from dragstrip.results.tables.build import refresh, scan

BLOCKS = 24


def seen(tmp_path, seed: int, slow: float = 1.0, unfair: float = 1.0, names=("aa", "bb")):
    """Visits of two machines in turn. The second is slower by `slow` for all stacks, and by
    `unfair` for h3 alone."""
    draw = random.Random(seed)
    study = structs.replace(made_capsule.study(), runs=BLOCKS)
    folder = tmp_path / f"c{seed}-{slow}-{unfair}-{len(set(names))}"
    with Capsule.create(folder, Manifest(study=study, starts=(made_capsule.START,))) as capsule:
        for number, block in enumerate(study.blocks()):
            second = number % 2
            for stack, base in (("h2", 1000.0), ("h3", 900.0)):
                plt_ms = base * draw.gauss(1, 0.01) * slow**second
                plt_ms *= unfair**second if stack == "h3" else 1.0
                visit = made.visit(made.STACKS[stack].protocol, block=block.id)
                capsule.append(
                    structs.replace(
                        visit,
                        stack=stack,
                        plt_ms=plt_ms,
                        seed=block.seed,
                        machine=names[second],
                    )
                )
    opened = Capsule.open(folder)
    refresh(opened)
    return machines(study, scan(opened, "visits"))


def test_a_slower_machine_does_not_disagree(tmp_path):
    alarms = 0
    for seed in range(20):
        found = seen(tmp_path, seed, slow=1.3)
        assert found
        assert found.visits == {"aa": BLOCKS, "bb": BLOCKS}
        alarms += found.tested[0].p < 0.05
    assert alarms <= 4, "one in twenty is chance; five of twenty have a chance of 0.3 %"


def test_a_machine_that_treats_a_stack_otherwise_does(tmp_path):
    found = seen(tmp_path, 1, slow=1.3, unfair=1.1)
    [one] = found.tested
    assert one.p < 0.001
    assert one.ratios["bb"] / one.ratios["aa"] > 1.05
    said = sentence(found)
    assert said.startswith("Made on 2 machines: aa (24 visits) and bb (24 visits).")
    assert "They disagree on 1 comparison: h3 / h2 on made|LTE is" in said


def test_of_one_machine_nothing_is_said(tmp_path):
    assert seen(tmp_path, 2, names=("aa", "aa")) is None
    assert sentence(None) == ""


def many(tmp_path, seed: int, unfair: float):
    """Visits of six machines in turn, each with its own speed. The last one is slower by `unfair`
    for h3 alone."""
    draw = random.Random(seed)
    study = structs.replace(made_capsule.study(), runs=10 * 6)
    folder = tmp_path / f"many{seed}-{unfair}"
    speed = [draw.uniform(0.8, 1.2) for _ in range(6)]
    with Capsule.create(folder, Manifest(study=study, starts=(made_capsule.START,))) as capsule:
        for number, block in enumerate(study.blocks()):
            at = number % 6
            for stack, base in (("h2", 1000.0), ("h3", 900.0)):
                plt_ms = base * draw.gauss(1, 0.03) * speed[at]
                plt_ms *= unfair if at == 5 and stack == "h3" else 1.0
                visit = made.visit(made.STACKS[stack].protocol, block=block.id)
                visit = structs.replace(visit, stack=stack, plt_ms=plt_ms, machine=f"m{at}")
                capsule.append(structs.replace(visit, seed=block.seed))
    opened = Capsule.open(folder)
    refresh(opened)
    return machines(study, scan(opened, "visits"))


def test_the_machine_that_is_unfair_is_named_and_no_other(tmp_path):
    found = many(tmp_path, 3, unfair=1.3)
    assert [one.machine for one in found.odd] == ["m5"]
    assert found.odd[0].factor > 1.2
    assert "Look at this machine: h3 / h2 on m5 is 1." in sentence(found)


def test_machines_that_differ_in_speed_alone_are_not_named(tmp_path):
    assert sum(len(many(tmp_path, seed, unfair=1.0).odd) for seed in range(5)) <= 1
