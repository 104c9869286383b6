"""The load generator in virtual time: exact, and judged like a browser."""

from pathlib import Path

import pytest

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_replays import LOSSY, digests


def study(cache: Path, pages: list[str], client: Client | None = None) -> Study:
    return StudySpec(
        name="loader",
        pages=pages,
        networks=[find_network(LOSSY)],
        stacks=loaded_by([find_stack(s) for s in ("h1", "h2", "h3")], "loader"),
        connections=(
            "first",
            "repeat",
        ),
        runs=1,
        seed=3,
        client=client or Client(),
        clock=NETWORK,
    ).resolve(cache)


def test_the_load_generator_is_exact_and_its_visits_are_valid(tmp_path):
    of = study(tmp_path, ["synth:12x8KB"], Client(pcap=True))
    seen = []
    for number in range(2):
        out = tmp_path / f"replay-{number}"
        make_visits(of, out)
        seen.append(digests(out))
    assert len(seen[0]) == 7
    assert seen[0] == seen[1]
    for visit in Capsule.open(out).visits():
        assert visit.valid, (visit.stack, visit.connection, visit.reasons)
        assert visit.outcome == "loaded"
        assert visit.graph
        assert visit.fcp_ms is None
        assert any("paint" in said for said in visit.unmeasured)


@pytest.mark.parametrize("page", ["demo"])
def test_a_page_of_scripts_and_styles_is_loaded_whole(tmp_path, page):
    make_visits(study(tmp_path, [page]), tmp_path / "c")
    visits = list(Capsule.open(tmp_path / "c").visits())
    assert [v.reasons for v in visits if not v.valid] == []
    assert len({v.plt_ms for v in visits if v.connection == "first"}) == 3
