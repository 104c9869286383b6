"""Lighthouse (https://github.com/GoogleChrome/lighthouse) on the same page and browser as our own
visits; installed from npm."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "visits"))

import npm

from dragstrip.browsers.generations import find_chromium
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.testbed.testbed import testbed

VERSION = "13.5.0"
AUDITS = {"fcp": "first-contentful-paint", "lcp": "largest-contentful-paint"}
_ALWAYS = (
    "--quiet --output=json --output-path=stdout --only-categories=performance --form-factor=desktop"
    " --screenEmulation.disabled --throttling.cpuSlowdownMultiplier=1"
).split()
_CHROME = "--headless --no-sandbox --disable-quic --ignore-certificate-errors"


def missing() -> str:
    """Why Lighthouse is not available here; empty if it is."""
    return npm.missing()


def simulated(page: Page, network: Network, runs: int) -> list[Mapping[str, float]]:
    """Paints in ms that Lighthouse computes for the network from loads without it."""
    kbps = round(network.down.rate_mbps * 1000)
    ms = round(network.down.delay_ms + network.up.delay_ms)
    throttled = f"--throttling.throughputKbps={kbps}", f"--throttling.rttMs={ms}"
    return _loads(page, None, runs, "--throttling-method=simulate", *throttled)


def observed(page: Page, network: Network, runs: int) -> list[Mapping[str, float]]:
    """Paints in ms that Lighthouse sees behind our link."""
    return _loads(page, network, runs, "--throttling-method=provided")


def _loads(
    page: Page, network: Network | None, runs: int, *method: str
) -> list[Mapping[str, float]]:
    start = npm.installed("lighthouse", VERSION, "cli/index.js", {})
    found = []
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.tune(Stack(name="h2", protocol="h2"))
        rules = ", ".join(f"MAP {host} {ip}" for host, ip in bed.addresses.items())
        flags = f'--chrome-flags={_CHROME} --host-resolver-rules="{rules}"'
        given = f"HOME={bed.workspace}", f"CHROME_PATH={find_chromium()}"
        argv = [*start, page.url, *_ALWAYS, *method, flags]
        for seed in range(runs):
            if network:
                bed.link.configure(network, seed)
            done = subprocess.run(
                bed.spaces.command("client", "env", *given, *argv), capture_output=True, text=True
            )
            asked = len(bed.origin.log().requests)
            if done.returncode or asked < len(page.resources):
                raise RuntimeError(f"lighthouse asked for {asked} objects: {done.stderr[-500:]}")
            audits = json.loads(done.stdout)["audits"]
            found.append({name: audits[audit]["numericValue"] for name, audit in AUDITS.items()})
    return found
