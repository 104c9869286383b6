"""SPDY/3.1 in Chromium 53: all on the asked protocol, according to the server and the wire."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec import structs

import ours
from conftest import CLIENT, NETWORK, Track, judged, open_track, plan_of, told
from dragstrip.browsers.chromium53.browser import chromium53, host_lines
from dragstrip.model.effects import HostPath
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue, installed
from dragstrip.testbed.legacy.install import lacking
from dragstrip.testbed.servers.site import ServerSite

STACKS = {
    "spdy-origin": {"SPDY": "spdy", "h2-chromium53": "h2", "h1-chromium53": "h1"},
    "netty-origin": {
        "SPDY-netty": "spdy",
        "h2-chromium53-netty": "h2",
        "h1-chromium53-netty": "h1",
    },
}
"""Stacks by the catalogue's name of their server."""
ALPN = {"spdy": "spdy/3.1", "h2": "h2", "h1": "http/1.1"}


def missing(*names: str) -> str:
    try:
        for name in names:
            installed(name)
    except TestbedError as error:
        return str(error)
    return lacking(catalogue()[name] for name in names)


def unless_missing(server: str, *values: object) -> object:
    lack = missing("chromium53", server)
    return pytest.param(*values, marks=pytest.mark.skipif(bool(lack), reason=lack))


LATE = {"clock-jump"}
"""This browser stamps requests late now and then, most on a busy machine: such visits are made
again, in a study as here."""
_ATTEMPTS = 6
_PAUSE_S = 2.0
"""Pause after such a visit: what kept the browser from stamping in time may last for seconds."""

pytestmark = pytest.mark.skipif(bool(missing("chromium53")), reason=missing("chromium53"))
every_server = pytest.mark.parametrize("server", [unless_missing(s, s) for s in STACKS])
every_stack = pytest.mark.parametrize(
    ("stack", "protocol"),
    [unless_missing(server, *pair) for server, mine in STACKS.items() for pair in mine.items()],
)


def make(
    track: Track,
    stack: str,
    connection: ConnectionMode = "first",
    *,
    spec: str = "6x20KB",
    network: Network = NETWORK,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Visit:
    """`elsewhere` are hosts whose name leads the browser to another address."""
    page = track.page(spec, hosts=2)
    track.bed.origin.serve(page)
    plan = plan_of(page, find_stack(stack), network=network, connection=connection)
    lines = host_lines(plan.stack, {**track.bed.addresses, **elsewhere})
    browser = track.browser(plan.stack.protocol, *lines, browser="chromium53")
    for _ in range(_ATTEMPTS):
        visit = judged(track.bed, browser, plan)[0]
        if not LATE & {reason.code for reason in visit.reasons}:
            break
        time.sleep(_PAUSE_S)
    return visit


@pytest.mark.parametrize("connection", ["first", "repeat"])
@every_stack
def test_each_protocol_is_valid_by_the_servers_word(track, stack, protocol, connection):
    made = make(track, stack, connection)
    assert told(made) == []
    assert made.outcome == "loaded"
    assert {s.protocol for s in made.served} == {c.protocol for c in made.connections} == {protocol}
    assert made.protocol_share == {protocol: 1.0}
    assert [s.match for s in made.served] == ["exact"] * 7
    assert made.connections[0].resumed == (connection == "repeat")
    assert made.fcp_ms is None
    assert made.unmeasured


@pytest.mark.skipif(bool(missing("spdy-origin")), reason=missing("spdy-origin"))
def test_the_machines_temp_folder_stays_as_it_was(track):
    """This browser's sound library would leave a folder there at each start."""

    def left() -> set[Path]:
        return set(Path(tempfile.gettempdir()).glob("pulse-*"))

    before = left()
    make(track, "SPDY")
    assert left() == before


@pytest.mark.skipif(bool(missing("spdy-origin")), reason=missing("spdy-origin"))
def test_screens_of_two_testbeds_share_no_keymap(track):
    """Both X servers are display 0 of their own network namespace, and write the keymap of that
    name to /tmp."""

    def temps() -> set[int]:
        screens = [pid for pid, argv in ours.processes().items() if argv[0].endswith("Xvfb")]
        return {Path(f"/proc/{pid}/root/tmp").stat().st_dev for pid in screens}

    before = temps()
    with ExitStack() as screens:
        for _ in range(2):
            screens.enter_context(chromium53(track.bed, CLIENT, ()))
        made = temps() - before
    assert len(made) == 2
    assert Path("/tmp").stat().st_dev not in made


@every_server
def test_large_answers_arrive_whole(track, server):
    """Each answer is larger than SPDY's first flow-control window, and all share a connection."""
    for stack in STACKS[server]:
        made = make(track, stack, spec="4x600KB")
        assert told(made) == []
        assert all(r.error == "" for r in made.requests)
        assert sum(s.body_bytes for s in made.served) > 4 * 590_000
        assert all(s.end_us for s in made.served)


@every_stack
def test_a_hosts_own_way_is_where_its_server_answers(track, stack, protocol):
    host = track.page("6x20KB", hosts=2).hosts[1]
    own = HostPath(host=host, delay_ms=30, loss=0.001)
    network = structs.replace(NETWORK, down=structs.replace(NETWORK.down, hosts=(own,)))
    made = make(track, stack, network=network)
    assert told(made) == []
    [seen] = made.link.down.host_loss
    assert seen.trials > 0


@every_stack
def test_a_host_that_is_not_reached_is_not_believed(track, stack, protocol):
    host = track.page("6x20KB", hosts=2).hosts[1]
    made = make(track, stack, elsewhere={host: "127.0.0.1"})
    assert made.outcome == "loaded"
    [said] = told(made)
    assert said.startswith(
        "replay-miss: 3 requests for recorded objects failed before they reached"
    )
    assert "3 net::ERR_CONNECTION_REFUSED" in said


@every_server
def test_a_host_with_the_certificate_of_another_is_not_believed(server, tmp_path, monkeypatch):
    """Chromium 53 refuses this host alone, and loads the rest of the page as usual."""
    truly = ServerSite.certificates

    def swapped(self: ServerSite) -> dict[str, dict[str, str]]:
        made = truly(self)
        return {**made, "s2.synth.test": made["www.synth.test"]}

    monkeypatch.setattr(ServerSite, "certificates", swapped)
    with open_track(tmp_path) as track:
        for stack in STACKS[server]:
            made = make(track, stack)
            assert made.outcome == "loaded"
            said = told(made)[0]
            assert said.startswith("replay-miss: 3 requests for recorded objects failed")


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is missing: apt-get install tshark")
@every_server
def test_the_wire_says_what_was_offered_and_what_was_chosen(track, tmp_path, server):
    """Both hellos of TLS 1.2 are readable."""
    page = track.page("2x1KB")
    track.bed.origin.serve(page)
    for name, protocol in STACKS[server].items():
        stack, capture = find_stack(name), tmp_path / f"{protocol}.pcapng"
        track.bed.tune(stack)
        with (
            chromium53(track.bed, CLIENT, host_lines(stack, track.bed.addresses)) as browser,
            browser.fresh_tab(CLIENT) as tab,
        ):
            track.bed.link.configure(NETWORK, 7, capture)
            assert tab.load(page.url).outcome == "loaded"
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
