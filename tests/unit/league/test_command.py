"""`dragstrip league`: its plan, and one clear sentence for what it cannot rank."""

import pytest

from dragstrip.cli import app, exits
from dragstrip.model.errors import InputError


def league(*words):
    return app(["league", *words, "--dry-run"], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "nope"), "--only nope: choose from .*h3"),
        (("--only", "h3"), "a race needs at least two stacks"),
        (("--discipline", "nope"), "unknown discipline 'nope'"),
        (("--scale", "nope"), "--scale 'nope': give smoke, paper"),
        (("--real-time", "--computing"), "--real-time: .*omit --computing"),
        (("--page", "nope.har"), "there is no page 'nope.har'"),
        (("--stack", "h2"), "--stack h2: this league ranks servers over h3"),
    ],
)
def test_what_cannot_be_ranked_says_why(words, said):
    with pytest.raises(InputError, match=said):
        league(*words, "--stack", "h3+")


def test_the_plan_names_servers_visits_and_time(capsys, tmp_path):
    out = tmp_path / "out"
    words = ("--only", "h3", "--only", "h3+", "--stack", "h3+", "--scale", "smoke")
    assert league(*words, "--out", str(out)) == exits.DONE
    said = capsys.readouterr().err
    assert "2 servers: h3, h3+" in said
    assert "left: 14 visits, about" in said
    assert not out.exists()
