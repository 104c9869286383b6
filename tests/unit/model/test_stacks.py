"""Stacks as data: known by name, varied in a study, told apart in words."""

import re
from typing import Any

import msgspec
import pytest
from msgspec import structs

import made
from dragstrip.browsers.chromium import stack_flags
from dragstrip.model.background import Background
from dragstrip.model.errors import InputError
from dragstrip.model.stack import Stack, differences
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.study.file import read_study
from dragstrip.study.presets import find_stack, in_browser, stacks

HOSTS = {"a.test": "10.0.0.1"}

QUIC_GO_H3 = {"protocol": "h3", "server": "quic-go", "browser": "chromium"}
QUIC_GO = {"server": "quic-go", "pacing": False, "priorities": False}

STUDY = """
pages = ["synth:2x1KB"]
networks = ["LTE"]
stacks = ["TCP+", "mine"]
runs = 2
connections = ["first", "repeat"]
"""


def test_aliases_are_the_same_stack():
    for one, other in (("h2", "TCP"), ("h3+early", "QUIC"), ("h3+", "QUIC-1RTT")):
        assert find_stack(one).fingerprint == find_stack(other).fingerprint
        assert differences(find_stack(one), find_stack(other)) == []


def test_every_stack_says_where_it_comes_from_and_only_aliases_are_equal():
    known = stacks().values()
    assert all(stack.source for stack in known)
    assert len({stack.fingerprint for stack in known}) == len(known) - 3


def test_the_papers_stacks_differ_in_what_the_paper_says():
    found = {what for what, *_ in differences(find_stack("TCP"), find_stack("TCP+"))}
    assert found == {
        "initial window",
        "pacing",
        "after idleness",
        "socket buffers",
        "initial receive window",
    }
    assert differences(find_stack("TCP+"), find_stack("TCP+BBR")) == [
        ("congestion control", "cubic", "bbr")
    ]
    between = {what for what, *_ in differences(find_stack("TCP+"), find_stack("QUIC"))}
    assert "initial window" not in between
    assert "congestion control" not in between
    assert {"protocol", "early data"} <= between


@pytest.mark.parametrize("field", [f.name for f in structs.fields(Stack)])
def test_no_difference_goes_unsaid(field):
    """Two stacks of different fingerprint must differ in words too."""
    changed = made.CHANGED | {"tls_record": "dynamic"}
    if field in ("name", "source", "protocol", "server", "brought"):
        return
    plain = made.plain_stack(field)
    other = structs.replace(plain, **{field: changed[field]})
    assert other.fingerprint != plain.fingerprint
    assert len(differences(plain, other)) == 1
    assert other.describe() != plain.describe()


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": "h3", "tls": "1.2"},
        {"protocol": "h3", "slow_start_after_idle": False},
        {"protocol": "h2", "slow_start_exit": "none"},
        {"protocol": "h3", "slow_start_exit": "none", "congestion": "bbr"},
        {"protocol": "h2", "udp_payload_bytes": 1300},
        {"protocol": "h2", "discovery": "alt-svc"},
        {"protocol": "h2", "early_data": True, "tls": "1.2"},
        {"protocol": "h2", "early_data": True, "resumption": False},
        {"protocol": "h2", "initial_window_packets": 0},
        {"protocol": "h3", "udp_payload_bytes": 9000},
        {"protocol": "h3", "udp_start_bytes": 1199},
        {"protocol": "h3", "handshake_timeout_s": 4},
        {"protocol": "h3", "handshake_timeout_s": 0},
        {"protocol": "h3", "idle_timeout_s": 181},
        {"protocol": "h2", "idle_timeout_s": 60},
        {"protocol": "h3", "browser": "firefox", "idle_timeout_s": 60},
        {"protocol": "h3", "udp_start_bytes": 1453},
        {"protocol": "h3", "udp_start_bytes": 1300, "udp_payload_bytes": 1250},
        {"protocol": "h2", "udp_start_bytes": 1200},
        {
            "protocol": "h3",
            "udp_start_bytes": 1200,
            "server": "nginx",
            "pacing": False,
            "priorities": False,
        },
        {"protocol": "h3", "tls_record": 4096},
        {"protocol": "h3", "fast_open": True, "browser": "loader"},
        {"protocol": "h2", "tls_record": 255},
        {"protocol": "h2", "tls_record": 16385},
        {"protocol": "h2", "certificate_bytes": 499},
        {"protocol": "h3", "certificate_bytes": 60_001},
        {"protocol": "h2", "retry": True},
        {"protocol": "h3", "key_share": "P-256"},
        {"protocol": "h2", "chain_length": 1},
        {"protocol": "h2", "chain_length": 9},
        {"protocol": "h2", "scts": -1},
        {"protocol": "h3", "staple_bytes": 20_001},
        {"protocol": "h2", "key_share": "X25519MLKEM768", "tls": "1.2"},
        {"protocol": "h2", "certificate": "ml-dsa-44", "tls": "1.2", "browser": "loader"},
        {"protocol": "h2", "certificate_compression": "brotli", "tls": "1.2"},
        {
            "protocol": "h2",
            "key_share": "X25519MLKEM768",
            "post_quantum": False,
            "browser": "loader",
        },
        {
            "protocol": "h2",
            "compress": "gzip:6",
            "server": "nginx",
            "pacing": False,
            "priorities": False,
        },
        {
            "protocol": "h2",
            "certificate_bytes": 4000,
            "server": "node-spdy",
            "tls": "1.2",
            "priorities": False,
        },
    ],
)
def test_what_no_transport_offers_is_refused(wrong):
    with pytest.raises(ValueError, match=r"omit it|needs|between"):
        Stack(name="wrong", **wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"compress": "gzip"}, "unknown content coding 'gzip'; choose from gzip:1 to gzip:9"),
        ({"compress": "zstd:3", "browser": "chromium70"}, "chromium70 does not accept zstd"),
    ],
)
def test_a_coding_that_no_one_has_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Stack(name="wrong", protocol="h2", **wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"certificate": "ml-dsa-65"}, "does not verify ml-dsa-65; use ml-dsa-65-size, or"),
        ({"certificate_compression": "zlib"}, "zlib: choose from none, brotli"),
        ({"key_share": "P-256", "early_data": True}, "P-256 allows no early data"),
        ({"server": "nginx", "pacing": False, "priorities": False, "key_share": "P-256"}, "itself"),
        ({"browser": "chromium", "ech": "keys"}, "dragstrip-origin has no keys for ech; choose"),
        ({**QUIC_GO, "ech": "keys"}, "headless-shell asks for no HTTPS records, which ech needs"),
        ({**QUIC_GO, "browser": "chromium", "ech": "keys", "tls": "1.2"}, "ech keys needs tls 1.3"),
        ({**QUIC_GO_H3, "ech": "stale-keys"}, "ech stale-keys needs TCP"),
    ],
)
def test_a_handshake_that_no_one_has_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Stack(**{"name": "wrong", "protocol": "h2", **wrong})


def test_servers_that_are_not_ours_show_certificates_of_any_size():
    assert structs.replace(find_stack("nginx-h3"), certificate_bytes=10_000).words()[
        "certificate size"
    ]


def study(tmp_path, tables: str) -> Study:
    path = tmp_path / "s.toml"
    path.write_text(STUDY + tables)
    return read_study(path, tmp_path)


def test_a_study_varies_a_stack(tmp_path):
    made_up = study(tmp_path, '[stack.mine]\nbase = "TCP+"\ninitial_window_packets = 20\n')
    own = made_up.stack("mine")
    assert own.buffer_bytes == find_stack("TCP+").buffer_bytes
    assert differences(find_stack("TCP+"), own) == [
        ("initial window", "initial window 32 packets", "initial window 20 packets")
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[stack.mine]\nbase = "TCP++"\n', "unknown base 'TCP++' (did you mean 'TCP+'?)"),
        ('[stack.mine]\nprotocol = "h2"\npaced = true\n', "stack.mine: unknown key `paced`"),
        ('[stack.mine]\nprotocol = "h3"\ntls = "1.2"\n', "stack.mine: QUIC needs tls 1.3"),
    ],
)
def test_a_wrong_variation_names_the_place(tmp_path, table, said):
    with pytest.raises(InputError) as error:
        study(tmp_path, table)
    assert said in str(error.value)
    assert "s.toml" in str(error.value)


def test_first_and_repeat_visits_are_blocks_of_their_own(tmp_path):
    made_up = study(tmp_path, '[stack.mine]\nbase = "h3"\n')
    blocks = list(made_up.blocks())
    assert len({b.id for b in blocks}) == len(blocks) == 4
    assert [b.connection for b in blocks].count("repeat") == 2


def test_what_old_studies_drew_is_drawn_again():
    """A study of first visits keeps the blocks and seeds that it had before connection modes
    existed."""
    drawn = {b.id: b.seed for b in made.study(runs=2).blocks()}
    assert drawn == {"made|LTE|0": 222423351365249, "made|LTE|1": 225369340680636}


def test_visits_of_old_capsules_are_first_visits():
    line = msgspec.to_builtins(made.visit())
    del line["connection"]
    del line["connections"][0]["transport"]
    read = msgspec.convert(line, Visit)
    assert read.connection == "first"
    assert read.connections[0].transport is None


def test_only_stacks_that_need_them_get_flags():
    for name in ("TCP+", "QUIC"):
        (led,) = stack_flags(find_stack(name), HOSTS)
        assert "MAP a.test 10.0.0.1," in led
    assert "EarlyData" in stack_flags(find_stack("TCP+early"), HOSTS)[0]
    assert "a.test:1" in stack_flags(find_stack("h3-altsvc"), HOSTS)[0]
    assert "MAP a.test 10.0.0.1:8443" in stack_flags(find_stack("caddy-h2"), HOSTS)[0]
    # The resolver itself has no QUIC.
    assert "quic-on=a.test:443" in stack_flags(find_stack("h3"), HOSTS, ask="doh")[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"congestion": "bbr"},
        {"initial_window_packets": 10},
        {"early_data": False},
        {"priorities": True},
        {"protocol": "h2", "pacing": True},
        {"discovery": "alt-svc"},
    ],
)
def test_what_another_server_cannot_change_is_refused(wrong):
    caddy = find_stack("caddy-h2" if wrong.get("protocol") == "h2" else "caddy-h3")
    with pytest.raises(ValueError, match=r"server caddy has \w+ = .* and no other"):
        structs.replace(caddy, **wrong)


def test_the_other_servers_transport_is_named_in_words():
    found = {what for what, *_ in differences(find_stack("QUIC"), find_stack("caddy-h3"))}
    assert found == {
        "congestion control",
        "slow-start exit",
        "packet size",
        "packet size at first",
        "flow control",
        "requests at once",
        "Early Hints",
        "key exchange",
        "OCSP staple",
        "certificate compression",
        "address validation",
        "migration",
        "QPACK's dynamic table",
        "content coding",
        "priorities",
        "server",
        "server's TLS",
        "order of streams",
    }
    assert "resumed sessions" in find_stack("caddy-h3").untold.values()
    assert not find_stack("QUIC").untold


def test_fast_open_saves_a_round_trip_and_no_browser_has_it():
    tfo, early = find_stack("TFO"), find_stack("TFO+early")
    assert [s.connect_rtts(repeat=False) for s in (tfo, early)] == [2, 2]
    assert [s.connect_rtts(repeat=True) for s in (tfo, early)] == [1, 0]
    with pytest.raises(InputError, match="browsers no longer have TCP Fast Open"):
        in_browser(tfo, "firefox")
    assert found_differences(tfo) == {"TCP Fast Open", "browser"}


def found_differences(stack: Stack) -> set[str]:
    return {what for what, *_ in differences(find_stack("TCP+"), stack)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"protocol": "h2", "congestion": "prague", "ecn": "l4s"}, "prague does not exist for h2"),
        ({"protocol": "h1", "congestion": "bbr3"}, "bbr3 does not exist for h1: use h3"),
        ({"protocol": "h3", "congestion": "dctcp", "ecn": True}, "dctcp does not exist for h3"),
        ({"protocol": "h2", "congestion": "dctcp"}, "dctcp needs ecn"),
        ({"protocol": "h3", "congestion": "prague"}, 'prague needs ecn = "l4s"'),
        ({"protocol": "h3", "congestion": "prague", "ecn": True}, 'prague needs ecn = "l4s"'),
        ({"protocol": "h3", "ecn": "l4s"}, "l4s needs congestion prague"),
        ({"protocol": "h2", "ecn": "l4s"}, "l4s does not exist for TCP"),
        ({"protocol": "h3", "ecn": "accurate"}, "always counts marks"),
        ({"protocol": "h3", "congestion": "bbr3", "slow_start_exit": "none"}, "does not exist for"),
    ],
)
def test_a_sender_that_does_not_exist_is_one_clear_error(wrong: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        Stack(name="x", **wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"protocol": "h3", "congestion": "prague", "ecn": "l4s"},
        {"protocol": "h3", "congestion": "bbr3"},
        {"protocol": "h3", "congestion": "bbr3", "ecn": True},
        {"protocol": "h2", "ecn": "accurate"},
        {"protocol": "h1", "congestion": "dctcp", "ecn": "accurate"},
        {"protocol": "h2", "congestion": "dctcp", "ecn": True},
    ],
)
def test_senders_that_exist_are_told_apart(right: dict[str, Any]):
    plain = Stack(name="x", protocol=right["protocol"])
    other = Stack(name="x", **right)
    assert other.fingerprint != plain.fingerprint
    assert len(differences(plain, other)) == len(right) - 1
    assert other.kernel_congestion in ("cubic", "dctcp")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"congestion": "prague"}, 'prague does not exist for tcp: use kind = "quic"'),
        (
            {"kind": "quic", "congestion": "dctcp"},
            'dctcp does not exist for quic: use kind = "tcp"',
        ),
        ({"kind": "quic", "direction": "up"}, "no direction up"),
        ({"kind": "quic", "rate_mbps": 1}, "rate_mbps is required for udp, and only allowed there"),
    ],
)
def test_background_load_that_does_not_exist_is_one_clear_error(wrong: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        Background(**wrong)
