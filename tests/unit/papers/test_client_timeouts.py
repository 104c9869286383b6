"""A paper's QUIC stacks whose clients wait longer than today's browser does."""

import pytest
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.study.presets import find_stack
from dragstrip_papers.answers.near import Closeness
from dragstrip_papers.campaign.clients import by_client
from dragstrip_papers.campaign.patience import changed, patient
from dragstrip_papers.claims import published

SPECS = published("wolsing2019").specs()


def test_only_quic_waits_longer():
    (spec, *_) = patient(SPECS, 120)
    asked = {s.name: (s.handshake_timeout_s, s.idle_timeout_s) for s in spec.stacks}
    assert {n for n, told in asked.items() if told == (120, 120)} == {"QUIC", "QUIC+BBR"}
    assert {told for n, told in asked.items() if "QUIC" not in n} == {(None, None)}
    assert patient(SPECS, None) == SPECS


def test_what_stacks_have_of_their_own_is_said():
    (spec, *_) = patient(SPECS, 120)
    waits = "waits 120 s for a handshake and closes connections idle for 120 s"
    assert changed(spec.stacks) == {"QUIC": waits, "QUIC+BBR": waits}
    assert changed(SPECS[0].stacks) == {}
    assert changed(by_client(SPECS, "loader")[0].stacks) == {}
    assert changed([structs.replace(find_stack("h3"), name="mine", idle_timeout_s=9)]) == {}
    near = Closeness(
        stacks="surrogate", pages="stand-in", loads=5, asked=31, run=1, cells=1, changed=("QUIC",)
    )
    assert near.words() == "by surrogates, QUIC, on stand-ins, 5 of 31 loads"


@pytest.mark.parametrize(
    ("specs", "seconds", "said"),
    [
        (SPECS, 4, "--patience 4: handshake_timeout_s must be between 5 and 180"),
        (by_client(SPECS, "loader"), 60, "browser loader decides handshake_timeout_s itself"),
    ],
)
def test_a_patience_that_no_client_has_is_refused(specs, seconds, said):
    with pytest.raises(InputError, match=said):
        patient(specs, seconds)
