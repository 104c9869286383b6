"""`dragstrip link`: what a program behind the link reaches, and what is left when it ends."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from inside import MAIN, dragstrip, environment, readable_python, run, servers

import ours
from dragstrip.testbed.uplink.address import POOL, Subnet, around
from dragstrip.testbed.uplink.uplink import own_address

BOTH = pytest.mark.parametrize("ordinary", [False, True], ids=["root", "ordinary"])

_UDP = """
import socket, sys, time
address, port = sys.argv[1], int(sys.argv[2])
end = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
end.settimeout(5)
end.connect((address, port))
began = time.monotonic()
end.send(b"ping")
assert end.recv(9) == b"ping"
print(time.monotonic() - began)
"""


def host(family: socket.AddressFamily) -> str:
    address = own_address(family)
    if address is None:
        pytest.skip("this machine has no such address of its own")
    return address


@BOTH
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_tcp_and_udp_reach_the_callers_own_address_through_the_link(ordinary, family):
    address = host(family)
    with servers(address) as (web, udp):
        place = f"[{address}]" if ":" in address else address
        script = f"curl -sS -m 9 -w ' %{{time_starttransfer}}' http://{place}:{web}/ && echo && "
        script += f"python3 -c '{_UDP}' {address} {udp}"
        done = run("link", "--delay", "30ms", "--", "sh", "-c", script, ordinary=ordinary)
    assert done.returncode == 0, done.stderr
    page, udp_s = done.stdout.splitlines()
    body, first_byte_s = page.split()
    assert body == "hello"
    assert float(first_byte_s) >= 0.120  # a handshake and a request: no faster than light
    assert float(udp_s) >= 0.060
    assert "packets" in done.stderr


@BOTH
def test_a_recorded_trace_is_the_rate_of_its_packets(ordinary, tmp_path):
    trace = tmp_path / "bus.csv"
    rows = [f"{second},{800 if second % 2 else 400},400" for second in range(6)]
    trace.write_text("\n".join(["time_s,dl_kbps,ul_kbps", *rows, ""]))
    address = host(socket.AF_INET)
    with servers(address) as (web, _):
        ask = f"curl -sS -m 20 -o body -w '%{{time_total}}' http://{address}:{web}/150000"
        options = ("--trace", str(trace), "--delay", "10ms")
        done = run("link", *options, "--", "sh", "-c", f"cd {tmp_path} && {ask}", ordinary=ordinary)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "body").stat().st_size == 150_000
    assert float(done.stdout) >= 1.5  # at most 100 kB a second


@BOTH
def test_the_gateway_answers_ping(ordinary):
    script = "ping -c 2 -i 0.2 $(ip -o route show default | cut -d' ' -f3)"
    done = run("link", "--delay", "15ms", "--", "sh", "-c", script, ordinary=ordinary)
    assert "2 received" in done.stdout, done.stdout + done.stderr
    times = [float(t.split(" ")[0]) for t in done.stdout.split("time=")[1:]]
    assert all(t >= 30 for t in times)


def test_every_address_is_ready_at_once():
    """An interface that gets ready later looks to a browser as if the network had changed."""
    done = run("link", "--delay", "15ms", "--", "ip", "-o", "addr", "show")
    assert "fe80::" in done.stdout, done.stderr
    assert "tentative" not in done.stdout


@BOTH
def test_environment_folder_user_input_and_exit_code_pass_through(ordinary, tmp_path):
    script = "pwd; echo $HOME; id -u; cat; exit 41"
    done = run("link", "--", "sh", "-c", script, ordinary=ordinary, home=tmp_path, text="typed\n")
    user = 65534 if ordinary and not os.geteuid() else os.geteuid()
    assert done.stdout.split() == [os.getcwd(), str(tmp_path), str(user), "typed"]
    assert done.returncode == 41


@BOTH
def test_a_link_inside_a_link_adds_its_delay(ordinary):
    python = readable_python() if ordinary else sys.executable
    inner = [python, "-c", MAIN, "link", "--delay", "20ms", "--"]
    inner += ["curl", "-sS", "-o", "/dev/null", "-m", "9"]
    with servers(host(socket.AF_INET)) as (web, _):
        url = f"http://{host(socket.AF_INET)}:{web}/"
        inner += ["-w", "%{time_starttransfer}", url]
        done = run("link", "--delay", "25ms", "--", *inner, ordinary=ordinary)
    assert done.returncode == 0, done.stderr
    # The relay of an ordinary user's inner link answers the handshake itself.
    assert float(done.stdout) >= (0.130 if ordinary else 0.180)
    assert done.stderr.count("dragstrip: down") == 2


def test_a_signal_reaches_the_command_and_its_answer_counts(tmp_path):
    script = 'trap "exit 9" TERM; echo ready; sleep 60 & wait'
    argv = dragstrip("link", "--", "sh", "-c", script)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(30) == 9


@BOTH
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_nothing_is_left_however_it_ends(ordinary, how):
    before = ours.processes().keys()
    script = "sleep 321.5 & echo; wait"
    argv = dragstrip("link", "--", "sh", "-c", script, ordinary=ordinary)
    argv = ["env", "--default-signal=HUP", *argv]  # the user of the tests may ignore it (nohup)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        process.stdout.readline()
        assert len(ours.processes().keys() - before) > 2, "command, link and what keeps it"
        process.send_signal(how)
        process.wait(30)
    deadline = time.monotonic() + 10
    while ours.processes().keys() - before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_two_links_at_once_do_not_meet():
    script = "ip -o -4 addr show dev dragstrip; echo; sleep 1"
    argv = dragstrip("link", "--", "sh", "-c", script)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    both = [subprocess.Popen(argv, env=environment(), **pipes) for _ in range(2)]
    addresses = {process.communicate(timeout=60)[0].split()[3] for process in both}
    assert len(addresses) == 2


def test_wrong_input_is_one_line():
    for argv in (["--delay", "20", "--", "true"], ["--", "no-such-program"], ["--loss", "2", "id"]):
        done = run("link", *argv)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1


def test_a_networks_name_prints_its_numbers_and_source():
    done = run("link", "--network", "LTE", "--loss", "1%", "--", "true")
    assert "LTE, changed: down 10.5 Mbit/s" in done.stderr
    assert "loss 1/1 %" in done.stderr
    done = run("link", "--network", "LTE", "--", "true")
    assert "wolsing2019" in done.stderr


def test_ranges_of_nested_links_lie_within_and_never_overlap():
    outer = next(Subnet().parts())
    inner = list(outer.parts())
    assert all(i.net.subnet_of(outer.net) and i.net6.subnet_of(outer.net6) for i in inner)
    used = {outer.gateway, outer.client}
    assert not any(address in i.net for i in inner for address in used)
    assert len({i.net for i in inner}) == len(inner)
    assert all(around(s.client) == s for s in (outer, *inner, *inner[0].parts()))
    assert list(next(inner[0].parts()).parts()) == []
    assert outer.net.subnet_of(POOL)


def test_names_are_resolved_by_a_resolver_only_the_caller_can_reach(tmp_path):
    """The caller is in another namespace, whose resolver listens on the loopback."""
    resolver = tmp_path / "resolver.py"
    resolver.write_text(_RESOLVER)
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.9\n")
    argv = dragstrip("link", "--delay", "5ms", "--", "getent", "ahostsv4", "there.test")
    script = (
        f"ip link set lo up; mount --bind {tmp_path}/resolv.conf $(readlink -f /etc/resolv.conf);"
        f'python3 {resolver} & "$@"; code=$?; kill $!; exit $code'
    )
    outer = ["unshare", "--net", "--mount", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*outer, *argv], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert "192.0.2.77" in done.stdout, done.stderr


_RESOLVER = """
import socket
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("127.0.0.9", 53))
while True:
    query, client = end.recvfrom(512)
    answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\5\\0\\4" + bytes([192, 0, 2, 77])
    question = query[12 : query.index(b"\\0", 12) + 5]
    head = query[:2] + b"\\x84\\0\\0\\1" + (b"\\0\\1" if question[-3] == 1 else b"\\0\\0")
    end.sendto(head + bytes(4) + question + (answer if question[-3] == 1 else b""), client)
"""
