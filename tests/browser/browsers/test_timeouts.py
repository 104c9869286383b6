"""How long a browser waits over QUIC."""

import pytest
from msgspec import structs

from conftest import CLIENT, NETWORK, judged, plan_of, told
from dragstrip.browsers.chromium import chromium, stack_flags
from dragstrip.model.effects import Udp
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack

OWN = find_stack("h3")
PATIENT = structs.replace(OWN, name="patient", handshake_timeout_s=7, idle_timeout_s=77)
DEAF = structs.replace(NETWORK, up=structs.replace(NETWORK.up, udp=Udp(loss=1)))
"""A network on which no packet of QUIC reaches the origin."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page") / "small.har.zip", synth("3x2KB"))


def make(bed, page, stack, *, started_as, network=NETWORK):
    bed.origin.serve(page)
    plan = plan_of(page, stack, network=network)
    with chromium(bed, "h3", CLIENT, stack_flags(started_as, bed.addresses)) as browser:
        return judged(bed, browser, plan)[0]


def test_a_client_announces_the_stacks_idle_timeout(bed, page):
    made = make(bed, page, PATIENT, started_as=PATIENT)
    assert told(made) == []
    offers = [c.transport.client_offer for c in made.connections if c.transport]
    assert {offer.idle_ms for offer in offers if offer} == {77_000}


def test_a_client_with_its_own_idle_timeout_is_drift(bed, page):
    (reason,) = told(make(bed, page, PATIENT, started_as=OWN))
    assert "closes idle connections after 30000 ms, not 77 s" in reason


@pytest.mark.parametrize(("stack", "seconds"), [(OWN, 4), (PATIENT, 7)])
def test_a_client_gives_a_handshake_up_when_the_stack_says(bed, page, stack, seconds):
    made = make(bed, page, stack, started_as=stack, network=DEAF)
    assert made.outcome == "failed"
    assert made.requests[0].end_ms == pytest.approx(seconds * 1000, abs=1000)
