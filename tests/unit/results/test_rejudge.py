"""Evidence stays, verdicts follow the rules: a capsule made under older ones is read by today's."""

from pathlib import Path

import polars as pl
import pytest
from msgspec import structs

import made
import made_capsule
from dragstrip.model.errors import InputError
from dragstrip.model.thresholds import Thresholds
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.results.rejudge import rejudge
from dragstrip.results.tables.build import judged_by, refresh, scan
from dragstrip.study.controls import controls_of
from dragstrip.verdict.rules import CHANGES, VERSION, limits_today
from dragstrip.watch.follow import Follower

WAITED_MS = 290.0
"""Valid while the limit was 300 ms, `overloaded` now that it is 120 ms or a share of the load."""


def capsule(folder: Path, version: int, *, wait_ms: float) -> Capsule:
    """A block whose h2 visit waited for a CPU, made under rules `version` with this limit."""
    study = made_capsule.study(runs=1)
    limits = structs.replace(study.thresholds, wait_ms=wait_ms, wait_share=0.2)
    study = structs.replace(study, thresholds=limits)
    start = structs.replace(made_capsule.START, rules=version)
    with Capsule.create(folder, Manifest(study=study, starts=(start,))) as written:
        for stack, waited_ms in (("h2", WAITED_MS), ("h3", 0.0)):
            visit = made.visit(stack, block="made|LTE|0")
            older = {"outside_cpu_s": None}  # not measured in those days
            host = structs.replace(visit.host, browser_wait_ms=waited_ms, **older)
            written.append(structs.replace(visit, host=host))
    return Capsule.open(folder)


def verdicts(found: Capsule) -> dict[str, str]:
    return {visit.stack: visit.verdict for visit in found.visits()}


def test_a_capsule_made_under_older_rules_is_read_by_todays(tmp_path):
    found = capsule(tmp_path / "c", 1, wait_ms=300)
    assert verdicts(found) == {"h2": "overloaded", "h3": "valid"}
    assert found.manifest.study.thresholds.changed() == {"wait_share": 0.2}


def test_the_watch_page_shows_todays_verdicts(tmp_path):
    follower = Follower(capsule(tmp_path / "c", 1, wait_ms=300).path)
    assert follower.read()
    assert follower.tally.standing().reasons == {"overloaded": 1}
    assert [follower.visit(number).verdict for number in (0, 1)] == ["overloaded", "valid"]


def test_a_limit_that_the_study_set_stays(tmp_path):
    assert verdicts(capsule(tmp_path / "c", 1, wait_ms=500))["h2"] == "valid"


def test_under_todays_rules_the_verdict_of_the_visit_stands(tmp_path):
    """The visit was made by the same rules from the same evidence; keeping the verdict saves
    time."""
    assert verdicts(capsule(tmp_path / "c", VERSION, wait_ms=120))["h2"] == "valid"


def test_tables_of_other_rules_are_written_again(tmp_path):
    found = capsule(tmp_path / "c", 1, wait_ms=300)
    refresh(found)
    table = found.path / "visits.parquet"
    assert judged_by(table) == VERSION
    pl.read_parquet(table).with_columns(valid=pl.lit(value=True)).write_parquet(table)
    assert judged_by(table) == 1
    refresh(found)
    assert scan(found, "visits").filter(~pl.col("valid")).collect()["stack"].to_list() == ["h2"]


def test_rejudge_names_what_changes_and_writes_nothing(tmp_path):
    found = capsule(tmp_path / "c", 1, wait_ms=300)
    before = (found.path / "journal.jsonl").read_bytes()
    told = rejudge(found)
    (changed,) = told.changed
    assert (changed.visit, changed.before) == ("made|LTE|0|h2|0", "valid")
    assert changed.after == "overloaded"
    assert "290.0 ms" in changed.reasons[0].detail
    assert (told.rules_then, told.rules, told.visits) == ((1,), VERSION, 2)
    assert (told.blocks_then, told.blocks) == (1, 0)
    assert told.changes == [
        words for version in range(2, VERSION + 1) for words in CHANGES[version]
    ]
    assert (found.path / "journal.jsonl").read_bytes() == before
    assert {p.name for p in found.path.iterdir()} == {"journal.jsonl", "manifest.json"}


def test_a_block_without_controls_is_whole(tmp_path):
    study = made_capsule.study(runs=2)
    study = structs.replace(study, controls=controls_of(study.stacks), controls_every=2)
    start = made_capsule.START
    with Capsule.create(tmp_path / "c", Manifest(study=study, starts=(start,))) as written:
        for block in study.blocks():
            for stack in ("h2", "h3"):
                written.append(made.visit(stack, block=block.id))
    told = rejudge(Capsule.open(tmp_path / "c"))
    assert (told.blocks_then, told.blocks) == (1, 1)  # the first lacks its controls


def test_rejudge_by_another_limit(tmp_path):
    found = capsule(tmp_path / "c", 1, wait_ms=300)
    told = rejudge(found, {"wait_ms": "310"})
    assert told.changed == ()
    assert told.limits == {"wait_ms": 310.0, "wait_share": 0.2}


@pytest.mark.parametrize(
    ("limits", "said"),
    [({"wait": "3"}, "no such limit; choose from miss_share"), ({"wait_ms": "-1"}, "wait_ms=-1")],
)
def test_a_limit_that_cannot_be_is_an_error(tmp_path, limits, said):
    with pytest.raises(InputError, match=said):
        rejudge(capsule(tmp_path / "c", 1, wait_ms=300), limits)


@pytest.mark.parametrize(
    ("kept", "versions", "today"),
    [
        ({"wait_share": 0.5}, {8}, {}),
        ({"wait_share": 0.05}, {8, 10}, {}),
        ({"wait_share": 0.05}, {8}, {"wait_share": 0.05}),
        ({"wait_share": 0.2}, {8, 10}, {"wait_share": 0.2}),
    ],
)
def test_only_limits_that_a_study_set_are_kept(kept, versions, today):
    found = limits_today(structs.replace(Thresholds(), **kept), versions)
    assert found == structs.replace(Thresholds(), **today)
