import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import Reason, Request, Visit
from dragstrip.results.capsule import Capsule, CapsuleError
from dragstrip.results.manifest import Manifest, Start

PAGE = Page(
    name="demo",
    path=Path("demo.har.zip"),
    url="https://demo.test/",
    resources=(),
    source="made for the test",
    digest="0" * 12,
)
STUDY = Study(
    name="trial",
    pages=(PAGE,),
    networks=(Network.parse("10mbit/1mbit/20ms/0%/200ms"),),
    stacks=(Stack(name="h2", protocol="h2"), Stack(name="h3", protocol="h3")),
    runs=2,
    seed=7,
)


def manifest(study: Study = STUDY) -> Manifest:
    start = Start.here(browser_version="HeadlessChrome/156", command=("dragstrip", "race"))
    return Manifest(study=study, starts=(start,))


def visit(block: int = 0, stack: str = "h2", attempt: int = 0) -> Visit:
    return Visit(
        block=f"demo|LTE|{block}",
        attempt=attempt,
        position=0,
        page="demo",
        network="LTE",
        stack=stack,
        seed=1,
        started_us=1,
        outcome="loaded",
        plt_ms=812.5,
        requests=(Request(url="https://demo.test/ü", host="demo.test", protocol="h2", start_ms=1),),
        reasons=(Reason("mixed", "1 of 2"),),
    )


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    made = [visit(0, "h2"), visit(0, "h3"), visit(0, "h2", attempt=1)]
    with Capsule.create(tmp_path / "c", manifest()) as capsule:
        for one in made:
            capsule.append(one)
        assert list(capsule.visits()) == made
    opened = Capsule.open(tmp_path / "c")
    assert list(opened.visits()) == made
    assert opened.manifest == capsule.manifest


def test_a_continued_study_keeps_its_visits_and_notes_the_new_start(tmp_path: Path) -> None:
    with Capsule.create(tmp_path / "c", manifest()) as capsule:
        capsule.append(visit(0))
        capsule.finish()
    more = structs.replace(STUDY, runs=9)
    with Capsule.create(tmp_path / "c", manifest(more)) as capsule:
        capsule.append(visit(1))
    opened = Capsule.open(tmp_path / "c")
    assert [v.block for v in opened.visits()] == ["demo|LTE|0", "demo|LTE|1"]
    assert opened.manifest.study.runs == 9
    assert [s.finished is None for s in opened.manifest.starts] == [False, True]


def test_a_visit_is_never_recorded_twice(tmp_path: Path) -> None:
    with Capsule.create(tmp_path / "c", manifest()) as capsule:
        capsule.append(visit())
        with pytest.raises(CapsuleError, match="already recorded"):
            capsule.append(visit())
    with (
        Capsule.create(tmp_path / "c", manifest()) as capsule,
        pytest.raises(CapsuleError, match="already recorded"),
    ):
        capsule.append(visit())


@given(cut=st.integers(min_value=1))
def test_a_torn_line_is_skipped_and_its_visit_can_be_made_again(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("torn") / "c"
    with Capsule.create(folder, manifest()) as capsule:
        capsule.append(visit(0))
        whole = (folder / "journal.jsonl").stat().st_size
        capsule.append(visit(1))
    lost = 1 + cut % ((folder / "journal.jsonl").stat().st_size - whole)
    os.truncate(folder / "journal.jsonl", (folder / "journal.jsonl").stat().st_size - lost)

    assert list(Capsule.open(folder).visits()) == [visit(0)]
    with Capsule.create(folder, manifest()) as capsule:
        capsule.append(visit(1))
    assert list(Capsule.open(folder).visits()) == [visit(0), visit(1)]


def test_damage_elsewhere_is_named(tmp_path: Path) -> None:
    with Capsule.create(tmp_path / "c", manifest()) as capsule:
        capsule.append(visit(0))
        capsule.append(visit(1))
    journal = tmp_path / "c" / "journal.jsonl"
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    with pytest.raises(CapsuleError, match=r"journal\.jsonl, line 1: not a visit .*delete this"):
        list(Capsule.open(tmp_path / "c").visits())


def test_only_one_run_writes_a_capsule(tmp_path: Path) -> None:
    with Capsule.create(tmp_path / "c", manifest()):
        with pytest.raises(CapsuleError, match="another run is writing"):
            Capsule.create(tmp_path / "c", manifest())
        assert list(Capsule.open(tmp_path / "c").visits()) == []
    Capsule.create(tmp_path / "c", manifest()).close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": "other"}, "study trial there, other here"),
        ({"seed": 8}, "seed 7 there, 8 here"),
        ({"pages": (structs.replace(PAGE, digest="f" * 12),)}, "demo \\(ffffffffffff\\)"),
        ({"stacks": STUDY.stacks[::-1]}, "stacks"),
        ({"client": structs.replace(STUDY.client, timeout_s=10)}, "client"),
    ],
)
def test_another_study_is_refused(tmp_path: Path, change: dict[str, object], named: str) -> None:
    Capsule.create(tmp_path / "c", manifest()).close()
    other = structs.replace(STUDY, **change)
    with pytest.raises(CapsuleError, match=named) as refused:
        Capsule.create(tmp_path / "c", manifest(other))
    assert "\n" not in str(refused.value)
    Capsule.create(tmp_path / "c", manifest()).close()  # and the lock was given back


def test_a_page_may_move(tmp_path: Path) -> None:
    Capsule.create(tmp_path / "c", manifest()).close()
    moved = structs.replace(STUDY, pages=(structs.replace(PAGE, path=Path("else/demo.har.zip")),))
    Capsule.create(tmp_path / "c", manifest(moved)).close()
    assert len(Capsule.open(tmp_path / "c").manifest.starts) == 2


def test_folders_that_are_no_capsule(tmp_path: Path) -> None:
    with pytest.raises(CapsuleError, match="no capsule here"):
        Capsule.open(tmp_path / "missing")
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(CapsuleError, match="not empty and holds no capsule"):
        Capsule.create(tmp_path, manifest())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "said"), [('{"schema": 99}', "schema 99"), ("{", "cannot be read"), ("[]", "cannot")]
)
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CapsuleError, match=said):
        Capsule.open(tmp_path)


def test_kill_minus_nine_loses_no_appended_visit(tmp_path: Path) -> None:
    """A child appends as fast as it can and says so; it is killed at some point in between."""
    program = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from pathlib import Path\n"
        "from test_results_capsule import manifest, visit\n"
        "from dragstrip.results.capsule import Capsule\n"
        "with Capsule.create(Path(sys.argv[1]), manifest()) as capsule:\n"
        "    for i in range(10**6):\n"
        "        capsule.append(visit(i))\n"
        "        print(i, flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "c"), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 20:
                break
        child.send_signal(signal.SIGKILL)
        reported = 20 + len(child.stdout.readlines())
    with Capsule.create(tmp_path / "c", manifest()) as capsule:
        blocks = [v.block for v in capsule.visits()]
        assert len(blocks) == len(set(blocks))
        assert blocks[: reported + 1] == [f"demo|LTE|{i}" for i in range(reported + 1)]
        assert len(blocks) <= reported + 2  # at most one was on disk but not yet reported
        capsule.append(visit(len(blocks)))
