"""`dragstrip link`: changing the link while it runs, some ports, a server behind it, JSON."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest
from inside import dragstrip, environment, run, servers

from dragstrip.testbed.uplink.uplink import own_address

BOTH = pytest.mark.parametrize("ordinary", [False, True], ids=["root", "ordinary"])
PORT = 18437
OTHER = 18438

_ASK = """
import os, socket, sys
end = socket.socket(socket.AF_UNIX)
end.connect(os.environ["DRAGSTRIP_CONTROL"])
talk = end.makefile("rw")
for line in sys.argv[1:]:
    print(line, file=talk, flush=True)
    print(talk.readline(), end="", flush=True)
"""
_ROUND_TRIPS = """
import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.settimeout(float(sys.argv[3]))
end.connect((sys.argv[1], int(sys.argv[2])))
times = []
for _ in range(3):
    began = time.monotonic()
    end.send(b"ping")
    try:
        end.recv(9)
    except TimeoutError:
        print("lost", flush=True)
        raise SystemExit
    times.append(time.monotonic() - began)
print(min(times), flush=True)
"""


def host() -> str:
    address = own_address(socket.AF_INET)
    if address is None:
        pytest.skip("this machine has no such address of its own")
    return address


def steered(ordinary, where, steps, *options):
    """Round trips (s, or None) between the answers to lines sent from behind the link."""
    address = host()
    with servers(address) as (_, udp):
        parts = []
        for step in steps:
            if isinstance(step, float):
                parts.append(f"python3 -c '{_ROUND_TRIPS}' {address} {udp} {step}")
            else:
                parts.append(f"python3 -c '{_ASK}' '{json.dumps(step)}'")
        script = " && ".join(parts)
        argv = ("link", "--control", str(where / "link.sock"), *options, "--", "sh", "-c", script)
        done = run(*argv, ordinary=ordinary)
    assert done.returncode == 0, done.stderr
    got = [None if line == "lost" else json.loads(line) for line in done.stdout.splitlines()]
    assert len(got) == len(steps), done.stdout
    return got


@pytest.fixture
def open_folder(tmp_path_factory):
    """A folder that an ordinary user may write."""
    folder = tmp_path_factory.mktemp("link")
    for each in (folder, *folder.parents[:2]):
        os.chmod(each, 0o777)
    return folder


@BOTH
def test_a_line_changes_the_delay_of_both_directions_or_of_one(ordinary, open_folder):
    before, said, between, again, after = steered(
        ordinary,
        open_folder,
        [5.0, {"delay": "60ms"}, 5.0, {"delay": {"up": "10ms"}}, 5.0],
        *("--delay", "20ms"),
    )
    assert before >= 0.040
    assert between >= 0.120
    assert after >= 0.070
    assert (said["ok"], said["down"]["delay_ms"], said["up"]["delay_ms"]) == (True, 60, 60)
    assert (again["changes"], again["down"]["delay_ms"], again["up"]["delay_ms"]) == (2, 60, 10)


@BOTH
def test_an_outage_holds_and_ends(ordinary, open_folder):
    out, lost, back, after = steered(
        ordinary, open_folder, [{"outage": {"up": True}}, 0.5, {"outage": False}, 5.0]
    )
    assert out["up"]["outage"]
    assert not out["down"]["outage"]
    assert lost is None
    assert not back["up"]["outage"]
    assert after is not None


def test_what_cannot_be_understood_is_one_error_and_changes_nothing(open_folder):
    lines = [
        {"delay": 20},
        {"dealy": "20ms"},
        {"loss": "200%"},
        {"rate": {}},
        {"rate": {"sideways": "1mbit"}},
        {"outage": "yes"},
        {"network": "LET"},
        {"network": 3},
        {"queue": "0ms"},
        {"delay": "20ms", "rate": "0mbit"},
        ["delay"],
        "delay",
    ]
    *errors, state = steered(False, open_folder, [*lines, {}], "--delay", "5ms")
    assert all(error.keys() == {"ok", "error"} and not error["ok"] for error in errors)
    assert all("\n" not in error["error"] for error in errors)
    assert "did you mean 'delay'" in errors[1]["error"]
    assert state["changes"] == 0
    assert state["down"]["delay_ms"] == 5


@BOTH
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_no_socket_and_no_open_port_is_left_however_it_ends(ordinary, how, open_folder):
    path = open_folder / "link.sock"
    options = ("--control", str(path), "--expose", str(PORT))
    argv = dragstrip("link", *options, "--", "sh", "-c", "echo; sleep 300", ordinary=ordinary)
    argv = ["env", "--default-signal=HUP", *argv]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        process.stdout.readline()
        assert path.is_socket()
        socket.create_connection(("127.0.0.1", PORT)).close()
        process.send_signal(how)
        process.wait(30)
    deadline = time.monotonic() + 10
    while path.exists() or _open(PORT):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _open(port: int) -> bool:
    with socket.socket() as end:
        return end.connect_ex(("127.0.0.1", port)) == 0


def test_a_dead_socket_is_replaced_and_anything_else_is_refused(open_folder):
    path = open_folder / "link.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert run("link", "--control", str(path), "--", "true").returncode == 0
    assert not path.exists()
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(str(path))
        alive.listen()
        done = run("link", "--control", str(path), "--", "true")
        assert done.returncode == 2
        assert "another program listens there" in done.stderr
        assert path.exists()
    path.unlink()
    path.write_text("mine")
    assert run("link", "--control", str(path), "--", "true").returncode == 2
    assert path.read_text() == "mine"
    longer = open_folder / ("x" * 120)
    done = run("link", "--control", str(longer), "--", "true")
    assert done.returncode == 2
    assert "107 bytes" in done.stderr


@BOTH
def test_a_server_behind_the_link_is_reached_through_it(ordinary, open_folder):
    serve = f"cd {open_folder} && python3 -m http.server {PORT} --bind 0.0.0.0"
    (open_folder / "page").write_text("behind")
    options = ("--delay", "40ms", "--expose", str(PORT), "--expose", f"{OTHER}:{PORT}")
    argv = dragstrip("link", *options, "--", "sh", "-c", serve, ordinary=ordinary)
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, **pipes, env=environment()) as process:
        try:
            for place in (f"127.0.0.1:{PORT}", f"127.0.0.1:{OTHER}", f"[::1]:{PORT}"):
                form = " %{time_starttransfer}"
                curl = ["curl", "-sS", "-m", "9", "--retry", "40", "--retry-delay", "0"]
                curl += ["--retry-max-time", "30", "--retry-all-errors", "-w", form]
                got = subprocess.run(
                    [*curl, f"http://{place}/page"], capture_output=True, text=True
                )
                body, first_byte_s = got.stdout.split()
                assert body == "behind"
                assert float(first_byte_s) >= 0.160  # the relay's handshake, and the request
        finally:
            process.terminate()
            process.wait(30)


_ECHO = """
import socket
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind(("0.0.0.0", %d))
print("ready", flush=True)
while True:
    data, sender = end.recvfrom(2000)
    end.sendto(b"%%d " %% sender[1] + data, sender)
"""


def _asked(
    place: tuple[socket.AddressFamily, str], port: int, count: int
) -> list[tuple[str, float]]:
    """Answers to datagrams from one socket, with their round trips in s."""
    with socket.socket(place[0], socket.SOCK_DGRAM) as end:
        end.settimeout(9)
        end.connect((place[1], port))
        got = []
        for number in range(count):
            began = time.monotonic()
            end.send(str(number).encode())
            got.append((end.recv(2000).decode(), time.monotonic() - began))
        return got


@BOTH
def test_a_udp_server_behind_the_link_is_reached_through_it(ordinary):
    options = ("--delay", "40ms", "--expose", f"{OTHER}:{PORT}/udp")
    argv = dragstrip("link", *options, "--", "python3", "-c", _ECHO % PORT, ordinary=ordinary)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(argv, **pipes, env=environment()) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            senders = []
            for place in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                for _ in range(2):
                    got = _asked(place, OTHER, 3)
                    ports, texts = zip(*(answer.split() for answer, _ in got), strict=True)
                    assert texts == ("0", "1", "2")
                    assert len(set(ports)) == 1, "a sender keeps its port"
                    assert min(took_s for _, took_s in got) >= 0.080
                    senders.append(ports[0])
            assert len(set(senders)) == 4, "the server tells senders apart"
        finally:
            process.terminate()
            process.wait(30)


def test_a_port_that_is_taken_is_named_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("link", "--expose", str(port), "--", "true")
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr
    assert f":{port}" in done.stderr


@BOTH
def test_only_the_given_ports_are_shaped(ordinary):
    address = host()
    with servers(address) as (shaped, _), servers(address) as (free, _):
        form = "%{time_starttransfer}\\n"
        ask = f"curl -sS -m 9 -o /dev/null -w '{form}' http://{address}"
        script = f"{ask}:{shaped}/ && {ask}:{free}/"
        options = ("--delay", "100ms", "--ports", f"9,{shaped}", "--json")
        done = run("link", *options, "--", "sh", "-c", script, ordinary=ordinary)
    assert done.returncode == 0, done.stderr
    slow_s, _, told = filter(None, done.stdout.splitlines())
    assert float(slow_s) >= 0.400
    told = json.loads(told)
    assert told["down"]["unshaped_packets"] >= 4
    assert told["down"]["unshaped_bytes"] >= 5
    assert told["down"]["packets_in"] >= 4
    assert told["down"]["delay_ms"] >= 100


@BOTH
def test_the_summary_is_the_last_line_of_stdout(ordinary):
    address = host()
    with servers(address) as (web, _):
        ask = f"curl -sS -m 20 -o /dev/null http://{address}:{web}/200000; printf done; exit 3"
        options = ("--down", "4mbit", "--delay", "15ms", "--queue", "50ms", "--json")
        done = run("link", *options, "--", "sh", "-c", ask, ordinary=ordinary)
    assert done.returncode == 3
    *own, last = done.stdout.splitlines()
    assert own == ["done"]
    told = json.loads(last)
    assert (told["exit_code"], told["changes"]) == (3, 0)
    asked = {
        "rate_mbps": 4.0,
        "trace": None,
        "delay_trace": None,
        "delay_ms": 15.0,
        "loss": 0.0,
        "queue_ms": 50.0,
    }
    assert told["down"]["asked"] == asked
    assert told["down"]["bytes_in"] > 200_000
    assert told["down"]["rate_mbps"] <= 4.1
    assert told["down"]["delay_ms"] >= 15
    assert set(told["down"]["drops"]) >= {"loss", "queue", "aqm"}


def test_what_does_not_go_together_is_refused_in_one_line():
    for argv in (
        ["--network", "LTE", "--profile", "Slow 3G"],
        ["--profile", "3G"],
        ["--ports", "0"],
        ["--ports", "9-1"],
        ["--expose", "http"],
        ["--expose", "70000"],
    ):
        done = run("link", *argv, "--", "true")
        assert done.returncode == 2, argv
        assert len(done.stderr.splitlines()) == 1
