"""SPDY/3.1 in Chromium 53: all on the asked protocol, by the server's word and the wire's."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import CLIENT, NETWORK, Track, plan_of, told
from dragstrip.browsers.chromium53 import chromium53, host_lines
from dragstrip.browsers.tabs import fresh_tab, load
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue, installed
from dragstrip.testbed.legacy.install import lacking
from dragstrip.visit.drive import visit

STACKS = {"SPDY": "spdy", "h2-chromium53": "h2", "h1-chromium53": "h1"}
ALPN = {"spdy": "spdy/3.1", "h2": "h2", "h1": "http/1.1"}


def missing() -> str:
    names = ("chromium53", "spdy-origin")
    try:
        for name in names:
            installed(name)
    except TestbedError as error:
        return str(error)
    return lacking(catalogue()[name] for name in names)


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def make(track: Track, stack: str, connection: ConnectionMode = "first") -> Visit:
    page = track.page("6x20KB", hosts=2)
    track.bed.origin.serve(page)
    plan = plan_of(page, find_stack(stack), connection=connection)
    with chromium53(track.bed, CLIENT, host_lines(plan.stack, track.bed.addresses)) as browser:
        return visit(track.bed, browser, plan)[0]


@pytest.mark.parametrize("connection", ["first", "repeat"])
@pytest.mark.parametrize("stack", STACKS)
def test_each_protocol_is_valid_by_the_servers_word(track, stack, connection):
    made = make(track, stack, connection)
    assert told(made) == []
    assert made.outcome == "loaded"
    protocol = STACKS[stack]
    assert {s.protocol for s in made.served} == {c.protocol for c in made.connections} == {protocol}
    assert made.protocol_share == {protocol: 1.0}
    assert [s.match for s in made.served] == ["exact"] * 7
    assert made.connections[0].resumed == (connection == "repeat")
    assert made.fcp_ms is None
    assert made.unmeasured


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is missing: apt-get install tshark")
def test_the_wire_says_what_was_offered_and_what_was_chosen(track, tmp_path):
    """Of TLS 1.2 both hellos are readable."""
    page = track.page("2x1KB")
    track.bed.origin.serve(page)
    for name, protocol in STACKS.items():
        stack, capture = find_stack(name), tmp_path / f"{protocol}.pcapng"
        track.bed.tune(stack)
        with (
            chromium53(track.bed, CLIENT, host_lines(stack, track.bed.addresses)) as browser,
            fresh_tab(browser, CLIENT),
        ):
            track.bed.link.configure(NETWORK, 7, capture)
            assert load(browser, "", page.url, CLIENT).outcome == "loaded"
            track.bed.link.passthrough()
        track.bed.origin.close()
        offered, chosen = hellos(capture, 1), hellos(capture, 2)
        assert set(offered) == {"h2,spdy/3.1,http/1.1"}
        assert set(chosen) == {ALPN[protocol]}


def hellos(capture: Path, kind: int) -> list[str]:
    """ALPN of every ClientHello (1) or ServerHello (2)."""
    asked = ["-Y", f"tls.handshake.type == {kind}", "-T", "fields", "-E", "aggregator=,"]
    argv = ["tshark", "-r", str(capture), *asked, "-e", "tls.handshake.extensions_alpn_str"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


def test_other_bytes_around_the_switch_are_refused(tmp_path):
    """The launcher looks before it writes: one byte beside the switch, and it does not run."""
    program = installed("chromium53")
    copy = tmp_path / "lib"
    copy.mkdir()
    for library in program.parents[1].joinpath("lib").iterdir():
        (copy / library.name).symlink_to(library)
    core = copy / "libQt5WebEngineCore.so.5"
    code = bytearray(core.read_bytes())
    code[0xD12FF1] ^= 1
    core.unlink()
    core.write_bytes(code)
    said = subprocess.run(
        [program, "--version"], env={"LD_LIBRARY_PATH": str(copy)}, capture_output=True, text=True
    )
    assert said.returncode == 3
    assert "libQt5WebEngineCore is not the one of PyQt5 5.8.2" in said.stderr
    fine = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert fine.stdout.startswith("Chromium 53.0.2785")
