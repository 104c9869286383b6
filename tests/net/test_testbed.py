"""Testbeds in real namespaces: they coexist, and nothing outlives its owner."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ours
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.testbed import workspace as workspace_module
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.net.wires import CLIENT_IP
from dragstrip.testbed.testbed import testbed as make_testbed
from dragstrip.testbed.workspace import scratch_root, sweep, workspace

HOSTS = ["a.test", "b.test", "c.test"]


def gone(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_every_host_has_its_own_address_and_answers_through_the_link():
    before = ours.left()
    with make_testbed(HOSTS) as bed:
        assert len(set(bed.addresses.values())) == 3
        for address in bed.addresses.values():
            bed.spaces.run("client", "bash", "-c", f"exec 3<>/dev/tcp/{address}/443")
        assert bed.link.report().up.packets_in > 0
        assert ours.left() > before
    assert ours.left() == before


def test_a_connection_that_its_client_left_half_open_is_dropped():
    with make_testbed(HOSTS) as bed:
        assert bed.kernel
        bed.link.configure(Network(name="deaf", down=Direction(loss=1.0), up=Direction()), seed=1)
        leave = f"timeout 0.2 bash -c 'exec 3<>/dev/tcp/{bed.addresses['a.test']}/443' || true"
        bed.spaces.run("client", "sh", "-c", leave)
        half_open = ("origin", "ss", "-Hnt", "state", "syn-recv")
        assert bed.spaces.run(*half_open)
        bed.kernel.drop_half_open()
        assert not bed.spaces.run(*half_open)


def test_two_testbeds_use_the_same_names_and_addresses_at_once():
    with make_testbed(HOSTS) as one, make_testbed(HOSTS) as two:
        assert one.addresses == two.addresses
        target = one.addresses["a.test"]
        one.spaces.run("client", "bash", "-c", f"exec 3<>/dev/tcp/{target}/443")
        assert one.link.report().up.packets_in > 0
        assert two.link.report().up.packets_in == 0


def test_nothing_leads_out():
    with make_testbed(HOSTS) as bed:
        routes = bed.spaces.run("client", "ip", "-o", "route")
        assert CLIENT_IP in routes
        links = bed.spaces.run("client", "ip", "-o", "link").splitlines()
        assert {line.split(": ")[1].partition("@")[0] for line in links} == {"lo", "eth0"}


def test_the_host_keeps_its_settings():
    setting = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    before = setting.read_text()
    with make_testbed(HOSTS):
        assert setting.read_text() == before


_OWNER = """
import sys, time
from dragstrip.testbed.testbed import testbed
with testbed(["a.test"]) as bed:
    print(bed.spaces.keeper_pid, bed.workspace, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_owner_that_is_killed_leaves_nothing_behind(how):
    before = ours.left()
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert owner.stdout
    keeper_pid, folder = owner.stdout.readline().split()
    with owner:
        owner.send_signal(how)
    assert gone(int(keeper_pid))
    sweep()
    assert not Path(folder).exists()
    deadline = time.monotonic() + 5
    while ours.left() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ours.left() == before


def test_the_next_start_removes_only_stale_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(workspace_module, "scratch_root", lambda: tmp_path)
    stale = tmp_path / "testbed-stale"
    stale.mkdir()
    stale.with_name("testbed-stale.lock").touch()
    with workspace() as mine, workspace() as other:
        assert not stale.exists()
        assert mine.exists()
        assert other.exists()
        assert sweep() == []
    assert list(tmp_path.iterdir()) == []
    assert scratch_root() != tmp_path


def test_folders_that_are_made_at_once_are_not_swept_by_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(workspace_module, "scratch_root", lambda: tmp_path)

    def make(_: int) -> bool:
        with workspace() as folder:
            return folder.is_dir()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(make, range(400)))
    assert list(tmp_path.iterdir()) == []


def test_a_failing_command_is_named():
    with namespaces() as spaces:
        with pytest.raises(TestbedError, match="'false' in namespace 'client' failed"):
            spaces.run("client", "false")
        with pytest.raises(TestbedError, match="ip -batch in namespace 'link' failed"):
            spaces.configure("link", ["link set nowhere up"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_ordinary_user_gets_namespaces_too(tmp_path):
    python = Path(sys.executable).resolve()
    check = (
        "from dragstrip.testbed.net.namespaces import namespaces\n"
        "with namespaces() as spaces: print(spaces.rootless, spaces.run('client', 'id', '-u'))"
    )
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", check],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    if "Permission denied" in done.stderr:
        pytest.skip("the interpreter is not readable for an ordinary user here")
    assert done.stdout.split() == ["True", "0"]
