"""browsertime (https://www.sitespeed.io) on the same page, browser and link as our own visits.

It is installed from npm (`npm.py`); its chromedriver is Debian's (apt-get install chromium-driver).
"""

import json
import shutil
import subprocess
import time
from typing import NamedTuple

import npm

from dragstrip.browsers.generations import find_chromium
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.testbed.testbed import testbed

VERSION = "28.3.0"
# Versions that npm has, of parts that these loads do not use or only log with.
_OTHERS = {
    "@sitespeed.io/edgedriver": "143.0.3650",
    "@sitespeed.io/log": "1.0.0",
    "@sitespeed.io/throttle": "5.0.1",
}
# As fast as its options make it: no waiting before or after the page, no screenshots, no HAR.
TUNED = (
    "--pageCompleteCheckStartWait=0 --pageCompleteCheckPollTimeout=100 --pageCompleteWaitTime=100 "
    "--timeToSettle=0 --skipHar --screenshot=false --delay=0"
).split()
_ALWAYS = "--headless --visualMetrics=false --video=false --viewPort=1366x768 --silent".split()


class Loads(NamedTuple):
    seconds: float
    """Wall time of a load, with its share of everything around the loads."""
    plt_ms: list[float]


def missing() -> str:
    """Why browsertime is not available here; empty if it is."""
    if not shutil.which("chromedriver"):
        return "chromedriver is missing: apt-get install chromium-driver"
    return npm.missing()


def measured(page: Page, loads: int, *, tuned: bool, network: Network | None = None) -> Loads:
    """One run of `loads` h2 loads, over a bare link if no network is given. Browser starts count.

    Raises `CalledProcessError` if it fails.
    """
    start = npm.installed("browsertime", VERSION, "bin/browsertime.js", _OTHERS)
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.tune(Stack(name="h2", protocol="h2"))
        if network:
            bed.link.configure(network, seed=1)
        rules = ", ".join(f"MAP {host} {ip}" for host, ip in bed.addresses.items())
        folder = bed.workspace / "browsertime"
        argv = [
            *(*start, page.url, f"--iterations={loads}", *_ALWAYS),
            *(TUNED if tuned else ()),
            f"--chrome.binaryPath={find_chromium()}",
            f"--chrome.chromedriverPath={shutil.which('chromedriver')}",
            *("--chrome.args=no-sandbox", "--chrome.args=disable-quic"),
            "--chrome.args=ignore-certificate-errors",
            f"--chrome.args=host-resolver-rules={rules}",
            f"--resultDir={folder}",
        ]
        began = time.monotonic()
        done = subprocess.run(
            bed.spaces.command("client", "env", f"HOME={bed.workspace}", *argv),
            capture_output=True,
            text=True,
        )
        took_s = time.monotonic() - began
        asked = len(bed.origin.log().requests)
        wanted = loads * len(page.resources)
        if done.returncode or asked < wanted:
            said = (done.stderr or done.stdout)[-500:]
            raise RuntimeError(f"browsertime asked for {asked} of {wanted} objects: {said}")
        (found,) = json.loads((folder / "browsertime.json").read_text())
    timings = [run["timings"]["pageTimings"] for run in found["browserScripts"]]
    return Loads(took_s / loads, [float(each["pageLoadTime"]) for each in timings])
