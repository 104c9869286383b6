"""The mixed web: each host in the protocol that its recording names."""

from collections import Counter

import pytest
from msgspec import structs

from conftest import CLIENT, judged, plan_of, told
from dragstrip.browsers.chromium import chromium, stack_flags
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack

VERSIONS = {"www.synth.test": "HTTP/2.0", "s2.synth.test": "h3", "s3.synth.test": "HTTP/1.1"}
STACK = find_stack("as-recorded")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    recording = synth("9x20KB", hosts=4)
    answers = tuple(
        structs.replace(a, http_version=VERSIONS.get(a.url.split("/")[2], "unknown"))
        for a in recording.answers
    )
    path = tmp_path_factory.mktemp("mixed") / "mixed.har.zip"
    return write_page(path, structs.replace(recording, answers=answers))


def make(bed, page, connection="first"):
    flags = stack_flags(STACK, bed.addresses, page.spoken)
    with chromium(bed, "h3", CLIENT, flags) as browser:
        return judged(bed, browser, plan_of(page, STACK, connection=connection))[0]


def test_a_page_knows_what_its_hosts_spoke(page):
    assert page.spoken == {"www.synth.test": "h2", "s2.synth.test": "h3", "s3.synth.test": "h1"}


@pytest.mark.parametrize("connection", ["first", "repeat"])
def test_each_host_has_its_own_protocol_and_h2_where_none_is_named(bed, page, connection):
    made = make(bed, page, connection)
    assert told(made) == []
    wanted = {**page.spoken, "s4.synth.test": "h2"}
    assert {(r.host, r.protocol) for r in made.requests} == set(wanted.items())
    assert {(s.host, s.protocol) for s in made.served} == set(wanted.items())


def test_a_host_in_another_protocol_than_recorded_is_told(bed, page):
    """The origin offers h2 to every host."""
    quiet = structs.replace(STACK, discovery="direct")
    tune = bed.origin.tune
    bed.origin.tune = lambda stack, rtt_ms=0.0: tune(quiet, rtt_ms)
    try:
        made = make(bed, page)
    finally:
        bed.origin.tune = tune
    lies = told(made)
    assert lies
    assert all(
        lie.startswith("mixed: the stack asks for each host's recorded protocol") for lie in lies
    )
    assert Counter(r.protocol for r in made.requests)["h1"] == 0
