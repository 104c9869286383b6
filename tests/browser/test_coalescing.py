"""Hosts that share an address: what a browser sends over whose connection, and how it is judged."""

import shutil
from dataclasses import replace

import pytest
from msgspec import structs

from conftest import CLIENT, LENIENT, NETWORK, plan_of, told
from dragstrip.browsers.chromium import chromium, chromium_at, inside, stack_flags
from dragstrip.browsers.place import with_names
from dragstrip.model.addresses import servers
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack
from dragstrip.testbed.net.layout import Layout, layouts
from dragstrip.testbed.testbed import testbed_of as open_testbed
from dragstrip.verdict.judge import with_verdict
from dragstrip.visit.drive import visit

FIRST, SECOND, OTHER = "www.synth.test", "s2.synth.test", "s3.synth.test"
RECORDED = {FIRST: "192.0.2.1", SECOND: "192.0.2.1", OTHER: "192.0.2.2"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    recording = synth("9x20KB", hosts=3)
    answers = tuple(
        structs.replace(a, server_ip=RECORDED[a.url.split("/")[2]]) for a in recording.answers
    )
    path = tmp_path_factory.mktemp("shared") / "shared.har.zip"
    return write_page(path, structs.replace(recording, answers=answers))


@pytest.fixture(scope="module")
def bed(page):
    (layout,) = layouts([servers(page, "recorded")])
    with open_testbed([layout]) as opened:
        opened.serve(page, layout)
        yield opened


def make(bed, page, stack, connection="first"):
    plan = plan_of(page, stack, connection=connection)
    with chromium(bed, stack.protocol, CLIENT, stack_flags(stack, bed.addresses)) as browser:
        return visit(bed, browser, plan)[0]


def reasons(made, page, stack, addresses="recorded"):
    return told(with_verdict(made, page, NETWORK, stack, LENIENT, addresses=addresses))


@pytest.mark.parametrize("connection", ["first", "repeat"])
@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_a_host_of_the_documents_address_is_asked_over_its_connection(
    bed, page, protocol, connection
):
    stack = find_stack(protocol)
    made = make(bed, page, stack, connection)
    assert reasons(made, page, stack) == []
    opened = [c for c in made.connections if not c.error]
    assert {c.host for c in opened} == {FIRST, OTHER}
    owner = next(c for c in opened if c.host == FIRST)
    assert {s.host for s in made.served if s.connection == owner.id} == {FIRST, SECOND}
    assert owner.address == bed.addresses[SECOND]
    lies = reasons(made, page, stack, "one-each")
    assert any("should not share one" in lie for lie in lies)
    assert any(f"over a connection to {FIRST}" in lie for lie in lies)


def test_http1_has_connections_to_each_host(bed, page):
    stack = find_stack("h1")
    made = make(bed, page, stack)
    assert reasons(made, page, stack) == []
    assert {c.host for c in made.connections} == {FIRST, SECOND, OTHER}


@pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is missing: apt-get install caddy")
@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_another_server_has_the_same_addresses_and_certificates(bed, page, protocol):
    stack = find_stack(f"caddy-{protocol}")
    made = make(bed, page, stack)
    assert reasons(made, page, stack) == []
    assert len(made.connections) == 2
    assert {s.host for s in made.served} == {FIRST, SECOND, OTHER}


def test_a_misdirected_request_is_answered_421_and_sent_again(page):
    """The certificate of one address covers a host of another one, which the browser may look for
    at both."""
    stack = find_stack("h2")
    (apart,) = layouts([servers(page, "one-each")])
    covering = dict.fromkeys((FIRST, SECOND), (FIRST, SECOND))
    layout = Layout(apart.addresses, covering)
    with open_testbed([layout]) as bed:
        bed.serve(page, layout)
        place = inside(bed)
        names = [f"{ip} {host}" for host, ip in layout.addresses.items()]
        names.append(f"{layout.addresses[FIRST]} {SECOND}")
        knowing = replace(
            place,
            command=lambda *argv: place.command(*with_names(bed.workspace, names), *argv),
            flags=("--no-sandbox",),
        )
        with chromium_at(knowing, "h2", CLIENT) as browser:
            made, _ = visit(bed, browser, plan_of(page, stack))
    misdirected = [s for s in made.served if s.status == 421]
    assert {(s.host, s.match) for s in misdirected} == {(SECOND, "misdirected")}
    assert made.outcome == "loaded"
    assert {r.status for r in made.requests} == {200}
    assert reasons(made, page, stack, "one-each") == []
