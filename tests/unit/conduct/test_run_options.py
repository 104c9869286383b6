"""An option of a run is declared once, and then offered, documented and passed on."""

import inspect
import os
import re
from pathlib import Path

import pytest
from msgspec import structs

import dragstrip
import made
from dragstrip.cli.commands import load
from dragstrip.cli.run_options import WORDS, takes_run_options
from dragstrip.conduct.options import ONE_BY_ONE, RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK, PRICED, REAL
from dragstrip.model.errors import InputError

ROOT = Path(__file__).parents[3]
FIELDS = set(RunOptions.__struct_fields__)
NOT_IN_PYTHON = {"calibrate", "client", "restarts", "watch"}
"""A program has the study itself to change, calibrates once per folder, and has no screen."""
CORES = len(os.sched_getaffinity(0))


def options_of(command: str) -> set[str]:
    return {p.name for p in load(command).params} & FIELDS


def test_every_option_has_words_and_run_offers_it():
    assert set(WORDS) == FIELDS
    assert options_of("run") == FIELDS


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("race", set()),
        ("reproduce", {"shard", "device"}),
        ("why", {"client", "restarts", "shard", "cluster", "admit_other_machines", "watch"}),
    ],
)
def test_other_commands_leave_out_only_what_is_listed(command, lacks):
    assert options_of(command) == FIELDS - lacks


def test_python_offers_every_option_that_is_not_listed():
    offered = set(inspect.signature(dragstrip.run).parameters) - {"study"}
    assert offered == FIELDS - NOT_IN_PYTHON


def test_every_option_stands_in_the_reference():
    text = (ROOT / "docs/reference/commands.md").read_text()
    part = re.search(r"(?ms)^## dragstrip run\n(.*?)^## ", text)
    assert part
    for name in FIELDS:
        assert f"--{name.replace('_', '-')}" in part[1], name


def test_no_function_below_the_command_line_repeats_an_option():
    given = set(inspect.signature(make_visits).parameters)
    assert given & FIELDS == {"out"}  # one command may fill several folders


def test_a_command_gets_its_options_as_one_value_in_the_order_of_its_help():
    got = []

    @takes_run_options(without=("watch",), after={"page": ("out",)})
    def command(page: str = "", *, options: RunOptions, last: bool = False) -> int:
        got.append((page, options, last))
        return 0

    names = list(inspect.signature(command).parameters)
    middle = [name for name in WORDS if name not in ("out", "watch")]
    assert names == ["page", "out", *middle, "last"]
    asked = structs.asdict(RunOptions(jobs="auto", shard="2/3"))
    command(page="p", last=True, **{name: asked[name] for name in names[1:-1]})
    assert got == [("p", RunOptions(jobs="auto", shard="2/3"), True)]


@pytest.mark.parametrize(
    ("virtual", "computing", "clock"),
    [
        (False, None, REAL),
        (True, None, PRICED),
        (False, True, PRICED),
        (True, False, NETWORK),
        (False, False, NETWORK),
    ],
)
def test_computing_asks_for_virtual_time(virtual, computing, clock):
    assert RunOptions(virtual=virtual, computing=computing).clock == clock


@pytest.mark.parametrize(
    ("jobs", "clock", "here", "per_machine"),
    [
        (None, REAL, 1, None),
        (None, NETWORK, CORES, None),
        ("auto", NETWORK, CORES, None),
        ("3", REAL, 3, 3),
        (2, NETWORK, 2, 2),
    ],
)
def test_jobs_by_default_are_one_or_one_per_core_and_a_clusters_machines_decide(
    jobs, clock, here, per_machine
):
    options = RunOptions(jobs=jobs)
    assert options.jobs_here(clock) == here
    assert options.jobs_per_machine(clock) == per_machine


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RunOptions(jobs="0"), "--jobs '0': give a number of testbeds from 1 on"),
        (RunOptions(shard="4/3"), "--shard 4/3: the shards are 1/3 to 3/3"),
        (RunOptions(admit_other_machines=True), "--admit-other-machines needs --cluster"),
    ],
)
def test_what_cannot_be_done_ends_before_anything_starts(options, said, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=re.escape(said)):
        make_visits(made.study(), out, options)
    assert not out.exists()


def test_a_study_is_adapted_to_what_is_asked():
    study = made.study(runs=4)
    assert ONE_BY_ONE.adapt(study) == study
    adapted = RunOptions(virtual=True, restarts=2, client="loader").adapt(study)
    assert (adapted.clock, adapted.restarts, adapted.predicted) == (NETWORK, 2, True)
