"""Steps of a network in a study file: each error names its place."""

from pathlib import Path

import pytest

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.steps import LinkChange, LinkStep
from dragstrip.study.bridge import without_loss
from dragstrip.study.file import read_spec
from dragstrip.study.networks import read_network
from dragstrip.study.presets import find_network
from dragstrip.study.tracefiles.network import traced

STUDY = """
pages = ["demo"]
networks = ["moving"]
stacks = ["h2", "h3"]
runs = 1
{more}
[network.moving]
down = {{ rate_mbps = 8, delay_ms = 10 }}
up = {{ rate_mbps = 8, delay_ms = 10 }}
at = {at}
"""


def read(tmp_path: Path, at: str, more: str = "") -> Network:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(at=at, more=more))
    return read_spec(path).networks[0]


def test_steps_have_times_with_units(tmp_path):
    network = read(
        tmp_path,
        '[{t = "2 s", down = {rate_mbps = 1}}, {t = "5s", outage_ms = 800}, '
        '{t = "6500ms", rebind = "port", tcp = "dropped"}]',
    )
    assert network.at == (
        LinkStep(t_ms=2000, down=LinkChange(rate_mbps=1)),
        LinkStep(t_ms=5000, outage_ms=800),
        LinkStep(t_ms=6500, rebind="port", tcp="dropped"),
    )


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ('"2 s"', "at: needs a list like"),
        ("[3]", r"at\[0\]: needs a table like .*, not 3"),
        ("[{outage_ms = 5}]", r"at\[0\]: t is missing"),
        ('[{t = "-1 s", outage_ms = 5}]', r"at\[0\].t: '-1 s' is not a duration"),
        ('[{t = "soon", outage_ms = 5}]', r"at\[0\].t: 'soon' is not a duration"),
        ('[{t = "2", outage_ms = 5}]', r"at\[0\].t: '2' is not a duration"),
        ("[{t = 2, outage_ms = 5}]", r"at\[0\].t: 2 is not a duration with its unit"),
        ('[{t = "0 s", outage_ms = 5}]', r"at\[0\]: t is 0 ms: give more than 0"),
        ('[{t = "2 s", t_ms = 1, outage_ms = 5}]', r"at\[0\]: t and t_ms are the same"),
        ('[{t = "2 s"}]', r"at\[0\]: changes nothing"),
        ('[{t = "2 s", outage_ms = -5}]', r"at\[0\]: outage_ms must be above zero"),
        ('[{t = "2 s", sideways = 5}]', r"at\[0\]: unknown key `sideways`"),
        ('[{t = "2 s", down = {speed = 5}}]', r"at\[0\].down: unknown key `speed`"),
        ('[{t = "2 s", down = 5}]', r"at\[0\].down: needs `object"),
        ('[{t = "2 s", rebind = "host"}]', r"at\[0\].rebind: "),
        ('[{t = "2 s", tcp = "dropped", outage_ms = 5}]', r"at\[0\]: tcp is of rebind"),
        (
            '[{t = "2 s", down = {trace = "x.txt"}}]',
            r"at\[0\].down.trace: cannot change while the link runs",
        ),
        (
            '[{t = "2 s", up = {stages = ["loss"]}}]',
            r"at\[0\].up.stages: cannot change while the link runs",
        ),
        (
            '[{t = "3 s", outage_ms = 5}, {t = "2 s", outage_ms = 5}]',
            r"at\[1\]: begins at 2000 ms, not after at\[0\]",
        ),
        (
            '[{t = "2 s", outage_ms = 900}, {t = "2.5 s", rebind = "port"}]',
            r"at\[1\]: begins at 2500 ms, in the outage of at\[0\]",
        ),
        ('[{t = "2 s", down = {rate_mbps = 0}}]', r"at\[0\].down: rate_mbps must be above zero"),
    ],
)
def test_an_error_names_file_network_and_step(tmp_path, at, said):
    with pytest.raises(InputError, match=rf"study\.toml: network\.moving\.{said}"):
        read(tmp_path, at)


def test_the_load_generator_cannot_be_rebound(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        STUDY.format(at='[{t = "2 s", outage_ms = 5}, {t = "3 s", rebind = "port"}]', more="")
        + '[client]\nprogram = "loader"\n'
    )
    with pytest.raises(InputError, match=r"at\[1\].rebind: the load generator does not do"):
        read_spec(path).resolve(tmp_path)


def test_a_network_may_have_its_own_file(tmp_path):
    (tmp_path / "tunnel.toml").write_text(
        'down = { rate_mbps = 8 }\nup = { rate_mbps = 8 }\nat = [{t = "1 s", outage_ms = 9}]\n'
    )
    network = find_network("tunnel.toml", tmp_path)
    assert (network.name, network.at) == ("tunnel", (LinkStep(t_ms=1000, outage_ms=9),))
    (tmp_path / "bad.toml").write_text('down = {}\nup = {}\nat = [{t = "1 s"}]\n')
    with pytest.raises(InputError, match=r"bad\.toml: at\[0\]: changes nothing"):
        find_network("bad.toml", tmp_path)
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        find_network("none.toml", tmp_path)


def test_ms_may_be_given_as_a_number():
    table = {"down": {}, "up": {}, "at": [{"t_ms": 5, "rebind": "port"}]}
    assert read_network("x", table, Path()).at[0].t_ms == 5


def test_a_network_without_loss_has_none_in_its_steps_either():
    steps = [
        {"t_ms": 5, "down": {"loss": 0.1}, "queue": "dropped"},
        {"t_ms": 9, "up": {"delay_ms": 3}},
    ]
    network = read_network("x", {"down": {}, "up": {"loss": 0.2}, "at": steps}, Path())
    without = without_loss(network)
    assert not without.chance
    assert [p.drops for p in without.phases] == [p.drops for p in network.phases]


def test_a_trace_cannot_take_the_place_of_a_rate_that_steps(tmp_path):
    (tmp_path / "rates.txt").write_text("0 4\n1 8\n2 0\n")
    table = {"down": {"rate_mbps": 1}, "up": {}, "at": [{"t_ms": 5, "down": {"rate_mbps": 2}}]}
    with pytest.raises(InputError, match=r"network 'x' with the trace .*: at\[0\].down: rate_mbps"):
        traced(read_network("x", table, Path()), f"trace:{tmp_path / 'rates.txt'}")
