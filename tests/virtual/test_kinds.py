"""A page of every kind of recording, raced in virtual time."""

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_archives import kinds, place
from recordings import SEEDS


def test_a_page_of_every_kind_is_valid_and_asks_for_all_it_has(tmp_path):
    made = kinds()
    for name in ("site.har", "site.har.zip"):
        made[f"{len(made)}-{name}"] = {f"{len(made)}-{name}": SEEDS[name]}
    for files in made.values():
        place(tmp_path, files)
    pages = [str(tmp_path / name) for name in made]
    of = StudySpec(
        name="kinds",
        pages=pages,
        networks=[find_network("20mbit/20ms")],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=1,
        client=Client(),
        clock=NETWORK,
    ).resolve(tmp_path)
    make_visits(of, tmp_path / "out")
    visits = list(Capsule.open(tmp_path / "out").visits())
    assert len(visits) == 2 * len(pages)
    asked = {}
    for visit in visits:
        assert visit.valid, (visit.page, visit.reasons)
        asked[visit.page, visit.stack] = {r.url for r in visit.requests}
    for page in of.pages:
        wanted = {r.url for r in page.resources}
        for stack in ("h2", "h3"):
            assert wanted <= asked[page.name, stack], page.name
