"""Live pages and recording, as commands, in a pretend Internet: our own network, whose hosts are
served by an origin with a separate authority, and found by a hosts file."""

import json
import os
import subprocess
import sys

import pytest

from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.testbed.testbed import testbed as open_testbed

HOSTS = 'mount --bind "$1" /etc/hosts; shift; exec "$@"'
MAIN = "from dragstrip.cli import main; main()"


@pytest.fixture(scope="module")
def internet(tmp_path_factory):
    """Runs `dragstrip` where it can reach three hosts and nothing else."""
    home = tmp_path_factory.mktemp("home")
    page = write_page(home / "page.har.zip", synth("6x3KB", hosts=3))
    with open_testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.spaces.run("client", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        hosts = bed.workspace / "hosts"
        hosts.write_text("".join(f"{ip} {host}\n" for host, ip in bed.addresses.items()))

        def run(*argv: str):
            there = ["unshare", "-m", "sh", "-c", HOSTS, "sh", str(hosts), sys.executable, "-c"]
            command = bed.spaces.command("client", *there, MAIN, *argv, "--ca", str(bed.origin.ca))
            env = {**os.environ, "HOME": str(home)}
            return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)

        yield page, bed, run


def test_a_live_race_says_what_it_could_not_check(internet, tmp_path):
    page, bed, run = internet
    before = bed.spaces.run("client", "ip", "-o", "link")
    bed.origin.log()
    network = ["--network", "50mbit/50mbit/20ms/0%/100ms"]
    stacks = ["--stack", "h2", "--stack", "h3"]
    out = tmp_path / "capsule"
    argv = ["--live", *network, *stacks, "--runs", "1", "--no-calibrate", "--json"]
    done = run("race", page.url, *argv, "--out", str(out))
    # 4: on a busy machine visits may stay overloaded, which does not matter here.
    assert done.returncode in (0, 4), done.stderr
    assert "could not check" in done.stderr
    visits = json.loads(done.stdout)["visits"]
    assert {v["stack"] for v in visits} == {"h2", "h3"}
    for visit in visits:
        assert visit["outcome"] == "loaded", str(visit)
        assert visit["protocol_share"] == {visit["stack"]: 1.0}
        assert visit["requests"] == 7
        assert visit["verdict"] in ("valid", "overloaded")
        assert visit["ttfb_ms"] > 2 * 40  # the link was in the path: two round trips at least
    first = json.loads((out / "journal.jsonl").read_text().splitlines()[0])
    assert "the protocols that the server saw" in first["unchecked"]
    assert {s.protocol for s in bed.origin.log().requests} == {"h2", "h3"}
    assert bed.spaces.run("client", "ip", "-o", "link") == before


def test_stacks_that_differ_in_the_server_only_cannot_race_live(internet, tmp_path):
    page, _, run = internet
    stacks = ["--stack", "h2", "--stack", "TCP"]
    done = run(
        "race", page.url, "--live", "--network", "LTE", *stacks, "--out", str(tmp_path / "c")
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_record_is_a_command(internet, tmp_path):
    page, _, run = internet
    file = tmp_path / "again.har.zip"
    done = run("page", "record", page.url, "-o", str(file), "--settle", "200ms")
    assert done.returncode == 0, done.stderr
    again = load_page(file)
    assert {r.url: r.body_bytes for r in again.resources} == {
        r.url: r.body_bytes for r in page.resources
    }
    assert again.screenshot
