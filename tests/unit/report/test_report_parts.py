"""Parts of a report that need something of the study: pictures, spreads, controls, chosen cells."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

import made
import made_capsule
import made_films
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import Reason, Visit
from dragstrip.report.site.site import build
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.study.controls import HELD, SAME, controls_of
from dragstrip_papers.answers.findings import Place
from dragstrip_papers.report.claims import link

CLEAN = structs.replace(Network.parse("10mbit/10mbit/10ms/0%/200ms"), name="clean")
LOSSY = structs.replace(Network.parse("10mbit/10mbit/10ms/2%/200ms"), name="lossy")


def visits(of: Study, loads: dict[str, float]) -> list[Visit]:
    """Every block of the study; `loads` are ms by stack, 1000 without one."""
    return [
        made.visit(
            of.stack(stack).protocol,
            block=block.id,
            page=block.page,
            network=block.network,
            stack=stack,
            seed=block.seed,
            plt_ms=loads.get(stack, 1000.0) + block.index,
            link=None,
        )
        for block in of.blocks()
        for stack in block.order
    ]


def report(folder: Path, of: Study, own: Sequence[Visit]) -> Path:
    """The report's folder."""
    with Capsule.create(folder, Manifest(study=of, starts=(made_capsule.START,))) as capsule:
        for visit in own:
            capsule.append(visit)
    return build(Capsule.open(folder)).parent


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_a_cell_with_frames_shows_its_race_and_keeps_it_to_share(tmp_path):
    quick = made_films.film((200, [40]), (800, [40, 140, 20]))
    slow = made_films.film((600, [40]), (1800, [40, 140, 20]))
    capsule = made_films.capsule(tmp_path / "c", {"h2": [slow] * 2, "h3": [quick] * 2})
    folder = build(capsule).parent
    for page in ("index.html", "cells/1-made-over-LTE.html"):
        assert "<h2>The race</h2>" in text(folder / page)
        assert "<h2>What a viewer saw</h2>" in text(folder / page)
    assert (folder / "race-made-LTE.webp").read_bytes().startswith(b"RIFF")


def test_the_servers_of_a_figures_stacks_and_their_gap_stand_beside_it(tmp_path):
    other = Stack(name="h2", protocol="h2", server="caddy", priorities=False)
    of = structs.replace(made_capsule.study(), stacks=(made.STACKS["h3"], other))
    capsule = made_capsule.capsule(tmp_path / "capsule", {"h2": [900], "h3": [800]}, of=of)
    told = build(capsule).read_text()
    assert "Servers: h3: dragstrip-origin; h2: caddy." in told
    assert "the gap between caddy and dragstrip-origin is not measured" in told


def test_controls_are_judged_and_their_visits_shown_but_not_compared(tmp_path):
    plain = made_capsule.study(runs=6)
    of = structs.replace(plain, controls=controls_of(plain.stacks))
    own = visits(of, {"h3": 700.0, HELD: 1000.0 + made.LTE.rtt_ms})
    spoiled = [
        structs.replace(v, reasons=(Reason("overloaded", "made up"),))
        if v.stack == SAME and v.block.endswith("|0")
        else v
        for v in own
    ]
    folder = report(tmp_path / "c", of, spoiled)
    index = text(folder / "index.html")
    assert 'id="controls"' in index
    assert "one round trip held: +1.00 RTT" in index
    assert "5 blocks of 6 count" in index  # a block with an invalid control does not
    assert index.count(f"</i>{SAME}</th>") == 1  # among the blocks, in no table of results
    assert list((folder / "visits").glob(f"*-{SAME.replace('/', '-')}-0.html"))


def test_networks_that_differ_in_loss_alone_are_drawn_on_the_first_page(tmp_path):
    of = structs.replace(made_capsule.study(runs=3), networks=(CLEAN, LOSSY))
    index = text(report(tmp_path / "c", of, visits(of, {"h3": 700.0})) / "index.html")
    assert "<h2>Spread under loss: made</h2>" in index
    assert index.count("<circle") == 2 * 2 * 3


def test_a_study_of_chosen_cells_leaves_the_others_empty_and_claims_lead_to_them(tmp_path):
    whole = structs.replace(made.study(runs=2, pages=("a", "b/c")), networks=(CLEAN, LOSSY))
    of = structs.replace(whole, only=(("a", "clean", "first"), ("b/c", "lossy", "first")))
    folder = report(tmp_path / "made", of, visits(of, {}))
    assert len(list((folder / "cells").iterdir())) == 2
    assert text(folder / "index.html").count("<td></td>") == 2 + 1  # and the corner
    for number, (page, network, connection) in enumerate(of.cells(), 1):
        place = Place(
            study="made", page=page, network=network, connection=connection, number=number
        )
        assert (tmp_path / link(place)).is_file()


def test_a_sampled_study_lists_its_cells_and_has_no_field_for_those_it_lacks(tmp_path):
    names = [f"p{i}" for i in range(13)]
    links = tuple(structs.replace(CLEAN, name=f"link{i}") for i in range(13))
    whole = structs.replace(made.study(runs=1, pages=tuple(names)), networks=links, sampled=True)
    cells = tuple((p, n.name, "first") for p, n in zip(names, links, strict=True))
    of = structs.replace(whole, only=cells)
    index = text(report(tmp_path / "made", of, visits(of, {})) / "index.html")
    assert 'class="matrix' not in index
    assert index.count('<tr data-page="') == 13


def test_a_study_of_all_combinations_has_the_table_and_the_list(tmp_path):
    names = tuple(f"p{i}" for i in range(7))
    of = structs.replace(made.study(runs=1, pages=names), networks=(CLEAN, LOSSY))
    index = text(report(tmp_path / "made", of, visits(of, {})) / "index.html")
    assert index.count("<td data-cell=") == 14
    assert index.count('<tr data-page="') == 14
