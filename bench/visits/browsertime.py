"""browsertime (https://www.sitespeed.io) on the same page, browser and link as our own visits.

It is installed from npm, without its install scripts, into a folder of the bench's own; its
chromedriver is Debian's (apt-get install chromium-driver).
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

from dragstrip.browsers.generations import find_chromium
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.testbed.testbed import testbed

VERSION = "26.3.2"
_FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dragstrip-bench"
# As fast as its options make it: no waiting before or after the page, no screenshots, no HAR.
TUNED = (
    "--pageCompleteCheckStartWait=0 --pageCompleteCheckPollTimeout=100 --pageCompleteWaitTime=100 "
    "--timeToSettle=0 --skipHar --screenshot=false --delay=0"
).split()
_ALWAYS = "--headless --visualMetrics=false --video=false --viewPort=1366x768 --silent".split()


def missing() -> str:
    """Why browsertime is not available here; empty if it is."""
    for program, package in (
        ("node", "nodejs"),
        ("npm", "npm"),
        ("chromedriver", "chromium-driver"),
    ):
        if not shutil.which(program):
            return f"{program} is missing: apt-get install {package}"
    return ""


def installed() -> Path:
    """The start script of browsertime, installed first if it is missing. Raises
    `CalledProcessError`."""
    script = _FOLDER / "node_modules" / "browsertime" / "bin" / "browsertime.js"
    if not script.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        argv = "npm install --ignore-scripts --no-audit --no-fund".split()
        subprocess.run([*argv, f"browsertime@{VERSION}"], cwd=_FOLDER, check=True)
    return script


def seconds_per_load(page: Page, loads: int, *, tuned: bool) -> float:
    """Wall time of one run of `loads` h2 loads over a bare link, browser starts included, by load.

    Raises `CalledProcessError` if it fails.
    """
    script, driver = installed(), shutil.which("chromedriver")
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.tune(Stack(name="h2", protocol="h2"))
        rules = ", ".join(f"MAP {host} {ip}" for host, ip in bed.addresses.items())
        argv = [
            *("node", str(script), page.url, f"--iterations={loads}", *_ALWAYS),
            *(TUNED if tuned else ()),
            f"--chrome.binaryPath={find_chromium()}",
            f"--chrome.chromedriverPath={driver}",
            *("--chrome.args=no-sandbox", "--chrome.args=disable-quic"),
            "--chrome.args=ignore-certificate-errors",
            f"--chrome.args=host-resolver-rules={rules}",
            f"--resultDir={bed.workspace}/browsertime",
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
        raise RuntimeError(
            f"browsertime asked for {asked} of {wanted} objects: {done.stderr[-500:]}"
        )
    return took_s / loads
