"""The stacks between two stacks: which there are, which cannot be, and what changes together."""

from itertools import pairwise

import pytest
from msgspec import structs

from dragstrip.model.bridge import FACTORS, KNOWN, REST, Bridge, BuiltBridge
from dragstrip.model.errors import InputError
from dragstrip.model.orders import passed
from dragstrip.model.stack import Stack
from dragstrip.study.presets import find_stack, in_browser, stacks

NAMES = [s.name for s in stacks().values() if s.browser == "chromium-headless-shell"]


def between(a: str | Stack, b: str | Stack, *factors: str, **changes: object) -> BuiltBridge:
    a, b = (find_stack(s) if isinstance(s, str) else s for s in (a, b))
    return BuiltBridge(Bridge(a=a, b=b, factors=factors, **changes))


def names(found: BuiltBridge) -> list[str]:
    return [f.name for f in found.players]


def test_every_field_of_a_stack_belongs_to_a_factor():
    told = {field for factor in (*FACTORS, REST) for field in factor.fields}
    assert told == {f.name for f in structs.fields(Stack)} - {"name", "source"}


def test_stock_h2_and_the_papers_quic():
    found = between("h2", "QUIC")
    assert names(found) == ["window", "pacing", "records", "tcp", "handshake", "rest"]
    assert len(found.stacks) == 24
    assert found.orders.total == 60
    for stack in found.stacks.values():
        quic = stack.protocol == "h3"
        assert (stack.tls_record is None) or not quic
        assert stack.hold_rtts == (1 if quic and "-handshake" in stack.name else 0)


OPPOSED = [{"caddy-h3", other} for other in ("hypercorn-h3", "envoy-h3", "noq-h3", "s2n-quic-h3")]
SCALABLE = {"h3-l4s", "h3"}


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", ["h2", "h3", "QUIC+BBR", "TCP+early", "caddy-h2", "caddy-h3"])
def test_ends_are_the_stacks_themselves_and_orders_change_one_factor_at_a_time(a, b):
    if a == b or {a, b} in (*OPPOSED, SCALABLE):
        return
    found = between(a, b, repeat=True)
    first, last = found.stacks[frozenset()], found.stacks[found.whole]
    assert (first.name, last.name) == (a, b)
    assert first.fingerprint == find_stack(a).fingerprint
    assert last.fingerprint == find_stack(b).fingerprint
    assert len({s.name for s in found.stacks.values()}) == len(found.stacks) <= 33
    for order in found.orders.orders:
        path = list(passed(order))
        assert path[-1] == found.whole
        assert all(node in found.stacks for node in path)
        assert all(len(after - before) == 1 for before, after in pairwise(path))


def test_servers_that_fix_a_property_each_in_its_own_way_have_no_way_between():
    """quic-go's tickets cannot be switched off, Hypercorn's cannot be switched on."""
    with pytest.raises(InputError, match="session resumption, server can only be changed together"):
        between(*OPPOSED[0], repeat=True)


def test_a_scalable_sender_and_its_marks_have_nothing_between():
    with pytest.raises(InputError, match="congestion control, ECN can only be changed together"):
        between("h3", "h3-l4s")


@pytest.mark.parametrize(
    ("name", "fields", "factors"),
    [
        ("h3", {"key_share": "X25519MLKEM768"}, ["key-exchange"]),
        ("h2", {"key_share": "P-256"}, ["key-exchange"]),
        ("h3", {"certificate": "rsa"}, ["certificate-kind"]),
        ("h2", {"certificate": "ml-dsa-65-size"}, ["certificate-kind"]),
        ("h3", {"chain_length": 4}, ["chain-length"]),
        ("h3", {"certificate_bytes": 9000}, ["certificates"]),
        ("h2", {"scts": 3, "staple_bytes": 900}, ["staple"]),
        ("h3", {"certificate_compression": "brotli"}, ["certificate-compression"]),
        ("h3", {"retry": True}, ["retry"]),
        ("h3", {"discovery": "https", "browser": "chromium"}, ["discovery", "browser"]),
        ("h3", {"discovery": "race", "browser": "chromium"}, ["discovery", "browser"]),
        ("h3", {"discovery": "alt-svc"}, ["handshake", "discovery"]),
    ],
)
def test_what_is_spent_before_the_first_byte_is_a_factor(name, fields, factors):
    stock = find_stack(name)
    found = between(stock, structs.replace(stock, name="other", **fields))
    assert sorted(names(found)) == sorted(factors)
    assert found.bundled == ()


def test_an_encrypted_hello_is_a_factor():
    plain = in_browser(find_stack("quic-go-h2"), "chromium")
    hidden = structs.replace(plain, name="hidden", ech="stale-keys")
    assert names(between(plain, hidden)) == ["ech"]


def test_two_stacks_one_factor_apart_have_nothing_between():
    found = between("TCP+", "TCP+BBR")
    assert names(found) == ["congestion"]
    assert [s.name for s in found.stacks.values()] == ["TCP+", "TCP+BBR"]


def test_a_held_round_trip_is_a_handshake():
    held = structs.replace(find_stack("h2"), name="held", hold_rtts=1)
    assert names(between("h2", held)) == ["handshake"]
    assert "handshake" not in names(between(held, structs.replace(find_stack("h3"), hold_rtts=2)))


def test_one_stack_under_two_names_differs_in_nothing():
    found = between("h2", "TCP")
    assert names(found) == ["rest"]
    assert [s.name for s in found.stacks.values()] == ["h2", "TCP"]


def test_what_a_server_cannot_change_is_changed_before_or_with_it():
    found = between("h2", "caddy-h2")
    assert names(found) == ["records", "priorities", "server"]
    assert all(order[-1] == "server" for order in found.orders.orders)
    foreign = between("caddy-h2", "caddy-h3")
    assert "handshake" in [f.name for f in foreign.bundled]


def test_what_streams_have_is_a_factor_where_it_differs():
    small = structs.replace(find_stack("h2"), name="small", flow_window_bytes=2**20)
    assert names(between(small, find_stack("h2"))) == ["flow-control"]
    assert "flow-control" in names(between(small, "h3"))
    few = structs.replace(find_stack("h3"), name="few", streams_at_once=10, flow_window_bytes=2**20)
    assert {"flow-control", "streams"} <= set(names(between("h2", few)))
    coarse = structs.replace(find_stack("h2"), name="coarse", interleave_bytes=16375)
    assert "turns" in names(between(coarse, "h3"))
    assert not {"flow-control", "streams", "turns"} & set(names(between("h2", "h3")))


def test_early_data_counts_on_repeat_visits_only():
    assert "early-data" not in names(between("h3+", "h3+early", repeat=False))
    assert names(between("h3+", "h3+early", repeat=True)) == ["early-data"]


def test_only_the_factors_asked_for_are_told_apart():
    found = between("h2", "QUIC", "window", "handshake")
    assert names(found) == ["window", "handshake", "rest"]
    assert {f.name for f in found.bundled} == {"pacing", "records", "tcp"}


def test_more_than_32_stacks_are_drawn_from():
    found = between("h2", "QUIC", repeat=True)
    assert found.orders.drawn
    assert len(found.stacks) <= 32
    assert set(found.stacks) == found.orders.nodes()


@pytest.mark.parametrize(
    ("a", "b", "factors", "said"),
    [
        ("h2", "h3", ("colour",), "unknown factor 'colour'; choose from window, pacing"),
        ("h2", "h3", ("rest",), "unknown factor 'rest'"),
        ("h2", "h3", ("tls",), "h2 and h3 do not differ in tls; they do in: pacing, records"),
    ],
)
def test_factors_that_do_not_fit_are_refused(a, b, factors, said):
    with pytest.raises(InputError, match=said):
        between(a, b, *factors)


def test_stacks_that_only_change_as_a_whole_cannot_be_bridged():
    a = structs.replace(find_stack("h2"), early_data=True)
    spdy = find_stack("SPDY")
    with pytest.raises(InputError, match="cannot be bridged"):
        between(spdy, a, "server")


def test_every_name_is_known():
    assert set(KNOWN) == {f.name for f in FACTORS} | {"loss", "names", "rest"}
