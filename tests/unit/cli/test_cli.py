"""Wrong input gives one line that names the place and the fix, and exit code 2."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragstrip.cli import main

RACE = ["race", "synth:2x1KB", "--network", "LTE", "--stack", "h2", "--stack", "h3"]
STUDY = """
pages = ["synth:2x1KB"]
networks = ["LTE"]
stacks = ["h2", "h3"]
runs = 2
"""


Dragstrip = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dragstrip(tmp_path, monkeypatch, capsys) -> Iterator[Dragstrip]:
    """Runs the program in this process, because a new one takes half a second; returns its exit
    code and output."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    before = signal.getsignal(signal.SIGTERM)

    def run(*argv: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dragstrip", *argv])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    yield run
    signal.signal(signal.SIGTERM, before)


def started(*argv: str, home: Path) -> tuple[int, str, str]:
    """Runs the command in another process."""
    code = "from dragstrip.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *argv],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
    )
    return done.returncode, done.stdout, done.stderr


def replaced(argv: list[str], old: str, new: str) -> list[str]:
    return [new if a == old else a for a in argv]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (replaced(RACE, "LTE", "LTF"), "unknown network 'LTF' (did you mean 'LTE'?)"),
        (replaced(RACE, "LTE", "10mbit/1mbit/5/0%/1ms"), "'5' is not a duration"),
        (replaced(RACE, "h3", "h4"), "unknown stack 'h4'"),
        ([*RACE, "--runs", "0"], "0 runs measure nothing"),
        (["race", "synth:2x1KB", "--network", "LTE", "--stack", "h2"], "at least two stacks"),
        (replaced(RACE, "synth:2x1KB", "nowhere.warc.gz"), "nowhere.warc.gz"),
        (replaced(RACE, "synth:2x1KB", "synth:2x1XB"), "2x1XB"),
        ([*RACE, "--stack", "h2"], "stack 'h2' is given twice"),
        (["race"], "Missing argument"),
        ([*RACE, "--sed", "1"], "--sed"),
        (["run", "nowhere.toml"], "nowhere.toml cannot be read"),
        (["report", "nowhere"], "nowhere"),
        (["compare", "a", "b", "--fail-if", "slower"], "write it like 'slower > 5%'"),
        (["export", "nowhere", "--format", "xlsx"], "--format"),
        (["page", "import", "nowhere.warc"], "nowhere.warc"),
    ],
)
def test_wrong_input_is_one_clear_line(dragstrip, argv, said):
    code, out, err = dragstrip(*argv)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("dragstrip: ")
    assert said in err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs = 2", "rnus = 2", "unknown key `rnus`; docs/reference/study.md has all"),
        ("runs = 2", 'runs = "2"', "runs: needs `int`, not `str`"),
        ("runs = 2", "runs = 0", "runs: needs `int` >= 1"),
        ('["LTE"]', '["LTE", "nope"]', "unknown network 'nope'"),
        ('["LTE"]', "[]", "networks: name at least one, or give a [sample] instead"),
        ("runs = 2", "runs = ", "is not TOML"),
        ("runs = 2", "runs = 2\n[client]\ntimeout = 3", "client"),
        (
            "runs = 2",
            "runs = 2\n[network.x]\nup = {}\ndown = { loss = 2 }",
            "network.x.down: loss must be a share between 0 and 1",
        ),
    ],
)
def test_a_study_file_error_names_file_and_place(dragstrip, tmp_path, old, new, said):
    study = tmp_path / "typo.toml"
    study.write_text(STUDY.replace(old, new))
    code, _, err = dragstrip("run", str(study))
    assert code == 2
    assert err.count("\n") == 1
    assert str(study) in err
    assert said in err


def test_the_command_line_starts_without_what_loads_slowly():
    slow = "scipy.stats", "sklearn", "polars", "altair"
    code = f"import sys, dragstrip.cli; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_lists_name_what_is_known(dragstrip):
    code, out, _ = dragstrip("list", "networks")
    assert code == 0
    assert "wolsing2019" in out
    code, out, _ = dragstrip("list", "stacks")
    assert "h3" in out


@pytest.mark.parametrize("argv", [["list", "networks"], ["run", "nowhere.toml"]])
def test_a_separate_process_ends_and_prints_the_same(dragstrip, tmp_path, argv):
    assert started(*argv, home=tmp_path) == dragstrip(*argv)


def test_the_aliases_are_the_same_stack():
    from dragstrip.study.presets import find_stack

    assert find_stack("h2").fingerprint == find_stack("TCP").fingerprint
    assert find_stack("h3").fingerprint != find_stack("QUIC").fingerprint
    assert find_stack("h2").fingerprint != find_stack("h3").fingerprint
