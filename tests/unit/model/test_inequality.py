"""A comparison of stacks says in what they differ beyond the protocol, and nothing else."""

import pytest
from msgspec import structs

import made
from dragstrip.model.inequality import inequalities, of_uploads, sentences
from dragstrip.model.stack import Stack
from dragstrip.study.presets import find_stack


def sentence(a: Stack, b: Stack) -> str:
    return " ".join(sentences(b, [a]))


def fields(a: str, b: str) -> set[str]:
    return {one.field for one in inequalities(find_stack(a), find_stack(b))}


def test_a_tuned_stack_beside_a_stock_one_is_said_in_one_sentence():
    said = sentence(find_stack("h2"), find_stack("h3+"))
    assert said == (
        "h3+ and h2 also differ in: initial window 32 against 10, pacing, "
        "packets per acknowledgement 10 against 2."
    )


def test_stock_stacks_differ_in_what_their_rfcs_ask_for():
    assert fields("h2", "h3") == {"paced", "ack_every_packets"}
    assert fields("h1", "h2") == {"connections"}


@pytest.mark.parametrize(("a", "b"), [("h2+", "h3+"), ("h2+early", "h3+early")])
def test_stacks_tuned_alike_differ_only_in_what_chromium_acknowledges(a, b):
    only = f"{b} and {a} also differ in: packets per acknowledgement 10 against 2."
    assert sentence(find_stack(a), find_stack(b)) == only
    asked = structs.replace(find_stack(b), ack_every_packets=2)
    assert sentence(find_stack(a), asked) == ""


def test_stacks_at_eye_level_need_no_word():
    assert sentence(find_stack("h2"), find_stack("TCP")) == ""
    # How often Firefox acknowledges is unknown.
    assert fields("h2-firefox", "h3-firefox") == {"paced"}


def test_the_same_protocol_tuned_otherwise_differs_in_nothing_else():
    said = sentence(find_stack("TCP"), find_stack("TCP+"))
    assert said.startswith("TCP+ and TCP differ in: initial window 32 against 10, pacing, slow")
    assert fields("h2+", "TCP+") == {"record"}


def test_servers_and_browsers_are_named():
    assert "server caddy against dragstrip-origin" in sentence(
        find_stack("h2"), find_stack("caddy-h2")
    )
    assert "browser (Chromium 70 of August 2018 against today's Chromium)" in sentence(
        find_stack("h2"), find_stack("gQUIC")
    )


def test_what_is_not_stock_over_quic_counts_against_tcp_too():
    small = structs.replace(find_stack("h3"), name="small", udp_payload_bytes=1252)
    assert "UDP payloads 1252 against 1452 bytes" in sentence(find_stack("h2"), small)
    assert "discovery" in fields("h2", "h3-altsvc")
    assert "discovery by a race" in sentence(find_stack("h2"), find_stack("h3-race"))
    assert "discovery by HTTPS record" in sentence(find_stack("h3-https"), find_stack("h3"))
    assert "discovery by a race against by Alt-Svc" in sentence(
        find_stack("h3-altsvc"), find_stack("h3-race")
    )
    searching = structs.replace(find_stack("h3"), name="searching", udp_start_bytes=1200)
    assert "search for the packet size from 1200 bytes on against none" in sentence(
        find_stack("h3"), searching
    )


def test_uploads_over_two_transports_have_two_senders():
    h1, h2, h3 = (find_stack(name) for name in ("h1", "h2", "h3"))
    assert of_uploads([h1, h2]) == []
    (said,) = of_uploads([h2, h3])
    assert "congestion control" in said
    assert "receive buffer" in said


def test_stacks_that_differ_in_the_same_share_a_sentence():
    others = [find_stack(name) for name in ("h2", "h2+", "TCP-TLS1.2", "TCP", "h3+")]
    assert sentences(find_stack("h3+"), others) == [
        "h3+ and each of h2 and TCP also differ in: initial window 32 against 10, pacing, "
        "packets per acknowledgement 10 against 2.",
        "h3+ and h2+ also differ in: packets per acknowledgement 10 against 2.",
        "h3+ and TCP-TLS1.2 also differ in: initial window 32 against 10, pacing, "
        "packets per acknowledgement 10 against 2, TLS 1.3 against 1.2.",
    ]


@pytest.mark.parametrize("field", [f.name for f in structs.fields(Stack)])
def test_no_field_is_forgotten(field):
    """Two stacks over one transport that differ in a field differ in a word, too."""
    if field in ("name", "source", "protocol", "server", "brought"):
        return
    plain = made.plain_stack(field)
    other = structs.replace(plain, name="other", **{field: made.CHANGED[field]})
    assert len(inequalities(plain, other)) == 1
