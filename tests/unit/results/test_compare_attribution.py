"""`dragstrip why`, from a study of the stacks between two to its answer in words and picture."""

import math
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
import simulate
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.names import Dns
from dragstrip.model.network import Network
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.figures.factor_bars import drawing
from dragstrip.report.words.why import notes, sentence
from dragstrip.results.compare.attribution import Why, why
from dragstrip.results.compare.stopping import stop_rule
from dragstrip.results.tables.build import frames
from dragstrip.study.bridge import bridge_study, without_loss, without_names
from dragstrip.study.presets import find_network, find_stack

WINDOW, RECORDS, REST, LOSS = 0.9, 0.95, 0.97, 0.8


def study(a: str = "h2", b: str = "QUIC", network: str = "LTE", pages=("demo",), **asked) -> Study:
    base = simulate.study(
        pages=tuple(simulate.page(name) for name in pages), networks=("LTE",), runs=1
    )
    found = find_network(network) if "/" not in network else Network.parse(network)
    base = structs.replace(base, networks=(found,))
    return bridge_study(base, find_stack(a), find_stack(b), **{"runs": 8, **asked})


def made(of: Study, noise: float = 0.001) -> list[Visit]:
    """Visits in which window, records and protocol shorten a load by known shares; the protocol's
    share grows with loss."""
    visits = []
    draw = np.random.default_rng(1)
    for visit in simulate.visits(of):
        stack, lossy = of.stack(visit.stack), bool(of.network(visit.network).two_way_loss)
        ms = 2000.0 * (2 if lossy else 1) * math.exp(draw.normal(0, noise))
        ms *= WINDOW if stack.initial_window_packets == 32 else 1
        ms *= RECORDS if stack.record in (None, 1369) else 1
        if stack.protocol == "h3":
            ms *= REST * (LOSS if lossy else 1)
        visits.append(structs.replace(visit, plt_ms=ms, outcome="loaded", reasons=()))
    return visits


def answer(of: Study, visits: list[Visit]) -> Why:
    return why(of, frames(visits, of)["visits"].with_row_index("row").lazy())


def parts(found) -> dict[str, float]:
    return {part.factor: part.ratio for part in found.parts}


def test_what_was_planted_is_attributed_and_the_rest_is_not():
    of = study()
    found = answer(of, made(of))
    (cell,) = found.cells
    assert parts(cell) == pytest.approx(
        {"window": WINDOW, "records": RECORDS, "pacing": 1, "tcp": 1, "handshake": 1}, abs=0.002
    )
    assert {p.factor for p in cell.parts if p.shown} == {"window", "records"}
    assert cell.unexplained.ratio == pytest.approx(REST, abs=0.002)
    product = math.prod(parts(cell).values()) * cell.unexplained.ratio
    assert product == pytest.approx(cell.ratio)
    assert cell.low < WINDOW * RECORDS * REST < cell.high
    assert cell.interactions == ()


def test_loss_is_told_apart_by_a_network_without_it():
    of = study(network="10mbit/2mbit/40ms/1%/200ms")
    assert [n.two_way_loss > 0 for n in of.networks] == [True, False]
    found = answer(of, made(of))
    (cell,) = found.cells
    assert cell.n_without_loss == 8
    assert cell.ratio == pytest.approx(WINDOW * RECORDS * REST * LOSS, abs=0.003)
    assert parts(cell)["window"] == pytest.approx(WINDOW, abs=0.002)
    shared = parts(cell)["loss"] * cell.unexplained.ratio
    assert shared == pytest.approx(REST * LOSS, abs=0.003)
    assert parts(cell)["loss"] < 0.93


def test_without_the_factor_loss_no_second_network_is_visited():
    of = study(network="10mbit/2mbit/40ms/1%/200ms", factors=("window", "records"))
    assert len(of.networks) == 1
    (cell,) = answer(of, made(of)).cells
    assert cell.unexplained.ratio == pytest.approx(REST * LOSS, abs=0.003)


def test_a_network_without_loss_keeps_everything_else():
    lossy = find_network("MSS")
    clear = without_loss(lossy)
    assert clear.two_way_loss == 0
    assert (clear.rtt_ms, clear.down.rate_mbps) == (lossy.rtt_ms, lossy.down.rate_mbps)


LOOKUP_MS = 500.0


def asked(of: Study, visits: list[Visit]) -> list[Visit]:
    """The visits, each later by a look-up where the network has a resolver."""
    return [
        structs.replace(v, plt_ms=v.plt_ms + LOOKUP_MS * bool(of.network(v.network).resolver))
        for v in visits
    ]


def with_resolver(network: str, a: str = "h2", b: str = "QUIC", **more) -> Study:
    base = simulate.study(pages=(simulate.page("demo"),), networks=("LTE",), runs=1)
    found = find_network(network) if "/" not in network else Network.parse(network)
    base = structs.replace(base, networks=(structs.replace(found, dns=Dns(delay_ms=20)),))
    return bridge_study(base, find_stack(a), find_stack(b), **{"runs": 8, **more})


def test_look_ups_are_told_apart_by_a_network_without_them():
    """Both sides wait as long for names, so their loads are less apart."""
    of = with_resolver("LTE")
    assert [bool(n.resolver) for n in of.networks] == [True, False]
    (cell,) = answer(of, asked(of, made(of))).cells
    apart = WINDOW * RECORDS * REST
    together = (2000 * apart + LOOKUP_MS) / (2000 + LOOKUP_MS)
    assert cell.ratio == pytest.approx(together, abs=0.003)
    assert parts(cell)["names"] > 1
    product = math.prod(parts(cell).values()) * cell.unexplained.ratio
    assert product == pytest.approx(cell.ratio)


def test_loss_and_look_ups_are_told_apart_at_once():
    of = with_resolver("10mbit/2mbit/40ms/1%/200ms")
    told = [(bool(n.resolver), n.two_way_loss > 0) for n in of.networks]
    assert sorted(told) == [(False, False), (False, True), (True, False), (True, True)]
    (cell,) = answer(of, asked(of, made(of))).cells
    assert {"loss", "names"} < set(parts(cell))
    assert parts(cell)["loss"] < 1 < parts(cell)["names"]
    assert math.prod(parts(cell).values()) * cell.unexplained.ratio == pytest.approx(cell.ratio)
    assert cell.n_without_loss == 8


def test_stacks_that_find_http3_by_its_record_need_the_resolver():
    of = with_resolver("LTE", b="h3-https")
    assert len(of.networks) == 1


def test_without_the_factor_names_no_second_network_is_visited():
    assert len(with_resolver("LTE", factors=("window",)).networks) == 1


@pytest.mark.parametrize("factors", [("names",), ("loss", "names")])
def test_conditions_can_be_told_apart_alone(factors):
    of = with_resolver("LTE", factors=factors)
    (cell,) = answer(of, asked(of, made(of))).cells
    assert set(parts(cell)) == {"names"}
    assert cell.unexplained.ratio * parts(cell)["names"] == pytest.approx(cell.ratio)


def test_a_condition_that_no_network_has_is_refused():
    with pytest.raises(InputError, match="no network here can be raced without loss or names"):
        study(factors=("loss", "names"))


def test_a_network_without_look_ups_keeps_everything_else():
    asking = find_network("LTE+dns")
    plain = without_names(asking)
    assert plain.resolver is None
    assert (plain.down, plain.up, plain.at) == (asking.down, asking.up, asking.at)


def test_equal_stacks_attribute_nothing():
    of = study(b="TCP")
    found = answer(of, made(of, noise=0.01))
    (cell,) = found.cells
    assert cell.parts == ()
    assert cell.low < 1 < cell.high
    assert cell.unexplained.ratio == cell.ratio


def test_several_pages_are_pooled_over_pages():
    of = study(pages=("one", "two", "three"))
    found = answer(of, made(of))
    (pooled,) = found.pooled
    assert (pooled.network, pooled.cells, pooled.over) == ("LTE", 3, "pages")
    assert pooled.ratio == pytest.approx(math.prod(c.ratio for c in found.cells) ** (1 / 3))
    assert "over 3 pages" not in sentence(found, pooled)


def test_a_cell_ends_when_every_share_is_decided():
    of = study(runs=31)
    rule = stop_rule(of)
    assert rule
    blocks: dict[int, dict[str, Visit]] = {}
    for visit in made(of, noise=0.001):
        blocks.setdefault(int(visit.block.rpartition("|")[2]), {})[visit.stack] = visit
    made_so_far = [blocks[i] for i in range(5)]
    assert rule(made_so_far)
    noisy: dict[int, dict[str, Visit]] = {}
    for visit in made(of, noise=0.2):
        noisy.setdefault(int(visit.block.rpartition("|")[2]), {})[visit.stack] = visit
    assert not rule([noisy[i] for i in range(5)])


def test_the_answer_in_words_names_what_matters_first():
    of = study()
    found = answer(of, made(of))
    said = sentence(found, found.cells[0])
    assert said.startswith("QUIC against h2 on demo over LTE, page load time")
    assert said.index("initial window 10.0 % faster") < said.index("TLS records 5.0 % faster")
    assert "No effect shown of" in said
    assert "protocol and implementation: 3.0 % faster" in said
    assert "All 24 stacks between h2 and QUIC were raced" in notes(found)[0]


def test_the_picture_is_svg_with_a_bar_for_each_part():
    of = study()
    found = answer(of, made(of))
    root = ElementTree.fromstring(drawing(found, found.cells[0]))
    bars = [e for e in root.iter() if e.tag.endswith("rect")]
    assert len(bars) == len(found.cells[0].parts) + 1
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "h2" in texts
    assert "QUIC" in texts


def test_json_has_the_fields_of_the_contract():
    of = study()
    data = msgspec.json.decode(msgspec.json.encode(answer(of, made(of))))
    assert {"a", "b", "metric", "cells"} <= data.keys()
    cell = data["cells"][0]
    assert {"page", "network", "ratio", "low", "high", "parts", "unexplained"} <= cell.keys()
    assert {"factor", "ratio", "low", "high"} <= cell["parts"][0].keys()
    assert {"ratio", "low", "high"} <= cell["unexplained"].keys()


def test_one_name_twice_is_refused():
    with pytest.raises(InputError, match="given twice"):
        study(b="h2")


def test_stacks_that_differ_only_in_the_protocol_are_refused():
    with pytest.raises(InputError, match="differ only in the protocol"):
        study("h1", "h2")
