"""The spread of page load times under loss: which networks belong together, and what is drawn."""

import re
from pathlib import Path

from msgspec import structs

import made
import made_capsule
from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.network import Network
from dragstrip.model.study import CellKey, Study
from dragstrip.report.data.cells import cells
from dragstrip.report.figures.spread import CellLoads, drawing, spreads


def network(name: str, text: str) -> Network:
    return structs.replace(Network.parse(text), name=name)


CLEAN = network("clean", "10mbit/10mbit/10ms/0%/200ms")
LOSSY = network("lossy", "10mbit/10mbit/10ms/2%/200ms")
FAR = network("far", "10mbit/10mbit/100ms/2%/200ms")


def study(*networks: Network) -> Study:
    return structs.replace(made_capsule.study(), networks=networks)


def loads(
    of: Study, tmp_path: Path, times: dict[str, list[float | None]]
) -> dict[CellKey, CellLoads]:
    """The same loads on every network of the study."""
    base = list(made_capsule.capsule(tmp_path / "c", times, of=of).visits())
    visits = [
        structs.replace(v, network=n.name, block=v.block.replace("LTE", n.name))
        for n in of.networks
        for v in base
    ]
    return {
        (c.page.name, c.network.name, c.connection): [r.loads for r in c.results]
        for c in cells(of, made.table(of, visits))
    }


LOADS = {"h2": [900.0, 1000.0, 1100.0, None], "h3": [700.0, 800.0, 900.0, 950.0]}


def test_networks_that_differ_in_loss_alone_are_one_picture(tmp_path):
    of = study(LOSSY, FAR, CLEAN)
    (found,) = spreads(of, loads(of, tmp_path, LOADS))
    assert [level.network.name for level in found.levels] == ["clean", "lossy"]
    assert found.levels[0].loads == ((900.0, 1000.0, 1100.0), (700.0, 800.0, 900.0, 950.0))
    assert found.levels[0].censored == 1


def test_loss_in_bursts_is_loss_too(tmp_path):
    bursts = GilbertElliott(p=0.01, r=0.5)
    down = structs.replace(CLEAN.down, gilbert_elliott=bursts)
    of = study(CLEAN, structs.replace(CLEAN, name="bursts", down=down))
    (found,) = spreads(of, loads(of, tmp_path, LOADS))
    assert [level.network.name for level in found.levels] == ["clean", "bursts"]


def test_one_loss_is_no_spread(tmp_path):
    of = study(CLEAN, FAR)
    assert not list(spreads(of, loads(of, tmp_path, LOADS)))
    again = study(CLEAN, structs.replace(CLEAN, name="again"))
    assert not list(spreads(again, loads(again, tmp_path / "b", LOADS)))


def test_every_load_is_a_dot_and_what_never_ended_is_named(tmp_path):
    of = study(CLEAN, LOSSY)
    (found,) = spreads(of, loads(of, tmp_path, LOADS))
    svg = drawing(found)
    assert svg.count("<circle") == 2 * 7
    assert svg.count("1 not loaded") == 2
    assert "two-way 3.96 %" in svg
    heights = {t: float(y) for y, t in re.findall(r'cy="([\d.]+)"[^<]*<title>(\d+ ms)', svg)}
    assert heights["700 ms"] > heights["800 ms"] > heights["950 ms"]  # later is higher up
