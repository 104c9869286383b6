"""A league in virtual time: faults that are planted are ranked where they belong, and a league that
was killed resumes."""

import pytest
from msgspec import structs

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.watcher import Watcher
from dragstrip.league.disciplines import Discipline
from dragstrip.league.entries import Entry
from dragstrip.league.page import write
from dragstrip.league.plan import LEAST_RUNS, LeagueRequest
from dragstrip.league.result import result
from dragstrip.league.run import run
from dragstrip.model.servers import known
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_stack
from dragstrip.study.servers import stack_on
from dragstrip.testbed.servers.packages import unpacked

PAGES = Discipline(
    name="pages",
    title="Pages",
    what="Loads.",
    pages=("synth:6x5KB",),
    networks=("20mbit/20ms",),
    metric="plt_ms",
    runs=LEAST_RUNS,
)
PRIORITIES = structs.replace(
    PAGES,
    name="priorities",
    title="Priorities",
    pages=("synth:60x20KB+1x10KB:urgent",),
    networks=("10mbit/20ms",),
    metric="object:/urgent.css:took",
)
DELAYED = """http_filters:
          - name: held
            typed_config:
              "@type": {{ types }}.filters.http.fault.v3.HTTPFault
              delay: {fixed_delay: 0.020s, percentage: {numerator: 100}}"""


def held():
    """Envoy before our origin, which holds each answer 20 ms."""
    envoy = known()["envoy"]
    config = envoy.config.replace("http_filters:", DELAYED)
    assert config != envoy.config
    return structs.replace(envoy, name="held", base="envoy", config=config)


def entry(stack):
    return Entry(stack=stack, version="1")


def league(folder, disciplines, stacks, seed=0, **more):
    entries = [entry(stack) for stack in stacks]
    options = RunOptions(computing=False, out=folder / "out", jobs=1)
    found = result(
        run(LeagueRequest(scale="small", seed=seed), disciplines, entries, options, folder, **more)
    )
    write(found, folder / "out")
    return found


def ranks(discipline):
    return {one.name: one.rank for one in discipline.standings}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_server_that_holds_each_answer_is_behind(tmp_path, seed):
    if not unpacked(known()["envoy"]):
        pytest.skip("not installed: dragstrip servers install envoy")
    stacks = [find_stack("envoy-h3"), stack_on(held(), "h3")]
    (pages,) = league(tmp_path, [PAGES], stacks, seed).disciplines
    assert ranks(pages) == {"envoy-h3": "1", "held-h3": "2"}
    first, second = pages.standings
    assert 30 < second.value - first.value < 80  # document and images wait 20 ms each
    assert [(c.name, c.shown) for c in pages.causes] == [("held-h3", True)]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_server_that_ignores_priorities_is_behind_in_them(tmp_path, seed):
    fair = find_stack("h3")
    deaf = structs.replace(fair, name="deaf", priorities=False)
    (found,) = league(tmp_path, [PRIORITIES], [deaf, fair], seed).disciplines
    assert ranks(found) == {"h3": "1", "deaf": "2"}
    assert found.standings[1].low > 3
    assert found.invalid == 0


class Killed(Exception):
    pass


def test_a_league_that_was_killed_resumes(tmp_path):
    stacks = [find_stack("h2"), structs.replace(find_stack("h2"), name="tuned", pacing=True)]
    smoke = [structs.replace(PAGES, name=name, runs=1) for name in ("one", "two")]

    def kill(line):
        if line.startswith("two"):
            raise Killed

    steps = [structs.replace(one, title=one.name) for one in smoke]
    with pytest.raises(Killed):
        league(tmp_path, steps, stacks, say=kill)
    made = [v.started_us for v in Capsule.open(tmp_path / "out" / "one").visits()]
    assert len(made) == 2

    def calibrate(networks):
        raise AssertionError("a finished discipline starts nothing")

    found = league(tmp_path, steps, stacks, watcher=Watcher(calibrating=calibrate))
    again = [v.started_us for v in Capsule.open(tmp_path / "out" / "one").visits()]
    assert again == made
    assert [d.visits for d in found.disciplines] == [2, 2]
    assert ranks(found.disciplines[0]) == {"h2": "1 to 2", "tuned": "1 to 2"}  # one block: no rank
    page = (tmp_path / "out" / "index.html").read_text()
    assert 'href="one/report/index.html"' in page
    assert (tmp_path / "out" / "pictures" / "two.svg").exists()
