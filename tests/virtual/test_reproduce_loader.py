"""`dragstrip reproduce --client loader`: real visits in guests, and a page that calls them
predictions."""

from collections import Counter

import msgspec
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.results.capsule import Capsule
from dragstrip.study.loader_error import predicted
from dragstrip_papers.answers.findings import Findings

ASKED = (
    *("reproduce", "literature", "--virtual", "--client", "loader", "--scale", "1/10"),
    *("--study", "literature-handshakes", "--page", "synth:2x1KB"),
)


def test_a_papers_cell_is_predicted_in_a_guest(tmp_path):
    out = tmp_path / "predicted"
    done = CliRunner().invoke(app, [*ASKED, "--out", str(out)], standalone_mode=False)
    assert done.exception is None, done.output
    capsule = Capsule.open(out / "literature-handshakes")
    visits = list(capsule.visits())
    assert len(visits) == len(capsule.manifest.study.visited)
    assert [visit.reasons for visit in visits if not visit.valid] == []
    assert {visit.outcome for visit in visits} == {"loaded"}
    assert all(visit.graph for visit in visits)
    found = msgspec.json.decode((out / "claims.json").read_bytes(), type=Findings)
    assert (found.client, found.predicted) == ("loader", predicted())
    for name in ("claims.md", "claims.html", "literature-handshakes/report/index.html"):
        assert "Predictions: the load generator made these loads" in (out / name).read_text()
    again = [*ASKED[:3], *ASKED[5:], "--out", str(out)]  # without --client loader
    refused = CliRunner().invoke(app, again, standalone_mode=False)
    assert "add --client loader" in str(refused.exception)


def test_only_the_cells_that_a_command_names_get_more_runs(tmp_path):
    out = tmp_path / "grown"
    for page, scale in (("synth:2x1KB", "1/10"), ("synth:3x1KB", "2/10")):
        asked = [*ASKED[:6], scale, *ASKED[7:10], page, "--out", str(out)]
        done = CliRunner().invoke(app, asked, standalone_mode=False)
        assert done.exception is None, done.output
    capsule = Capsule.open(out / "literature-handshakes")
    (first, few), (second, more) = sorted(Counter(v.page for v in capsule.visits()).items())
    assert (first, second) == tuple(sorted(page.name for page in capsule.manifest.study.pages))
    assert more == 2 * few
