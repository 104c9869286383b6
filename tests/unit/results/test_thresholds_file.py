"""A study file may set limits; a wrong one is named with its place, and capsules keep theirs."""

from pathlib import Path

import pytest
from msgspec import structs

import made_capsule
from dragstrip.model.errors import InputError
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.results.capsule import Capsule, CapsuleError
from dragstrip.results.manifest import Manifest
from dragstrip.study.file import read_spec

STUDY = 'pages = ["demo"]\nnetworks = ["LTE"]\nstacks = ["h2", "h3"]\nruns = 1\n'


def study_file(folder: Path, limits: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY + limits)
    return path


def test_limits_come_from_the_file_and_the_rest_from_the_defaults(tmp_path):
    assert read_spec(study_file(tmp_path)).thresholds == DEFAULTS
    read = read_spec(study_file(tmp_path, "[thresholds]\nsteal_share = 0.05\n")).thresholds
    assert read == Thresholds(steal_share=0.05)
    assert read.changed() == {"steal_share": 0.05}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("steal_share = 2", "thresholds.steal_share"),
        ("steal_share = 'much'", "thresholds.steal_share"),
        ("wait_ms = -1", "thresholds.wait_ms"),
        ("loss_tail = 0.0", "thresholds.loss_tail"),
        ("rate_packets = 0", "thresholds.rate_packets"),
        ("steal = 0.1", "thresholds: unknown key `steal`"),
    ],
)
def test_a_wrong_limit_is_named_with_file_and_place(tmp_path, line, said):
    path = study_file(tmp_path, f"[thresholds]\n{line}\n")
    with pytest.raises(InputError) as raised:
        read_spec(path)
    assert str(raised.value).startswith(f"{path}: {said}")


def test_a_capsule_keeps_its_limits_and_is_not_continued_under_others(tmp_path):
    study = made_capsule.study(thresholds=Thresholds(wait_ms=70))
    kept = made_capsule.capsule(tmp_path / "c", {"h2": [1.0], "h3": [1.0]}, of=study)
    assert Capsule.open(kept.path).manifest.study.thresholds.wait_ms == 70
    other = structs.replace(study, thresholds=DEFAULTS)
    with pytest.raises(CapsuleError, match=r"thresholds .*wait_ms.*there, the defaults"):
        Capsule.create(kept.path, Manifest(study=other, starts=(made_capsule.START,)))
