"""Our SpeedIndex beside the reference implementation's, on the same frames of a real browser.

Runs where SPEEDLINE_DIR names a folder with npm's speedline-core in its node_modules.
"""

import base64
import json
import math
import os
import shutil
import subprocess

import pytest
from msgspec import structs

from conftest import CLIENT, NETWORK
from dragstrip.browsers.chromium import chromium
from dragstrip.browsers.screencast import Frame
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.painted import painted
from dragstrip.pages.resolve import resolve
from dragstrip.testbed.testbed import testbed as open_testbed
from dragstrip.visit.frames import speed_index, visual

FOLDER = os.environ.get("SPEEDLINE_DIR", "")
ORIGIN_US = 1_000_000_000
PROGRAM = """
const speedline = require("speedline-core");
const events = JSON.parse(require("fs").readFileSync(0));
speedline(events, {include: "speedIndex", timeOrigin: ORIGIN})
  .then(r => console.log(JSON.stringify({first: r.first, complete: r.complete, si: r.speedIndex})));
"""

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="SPEEDLINE_DIR is not set"),
    pytest.mark.skipif(not shutil.which("node"), reason="node is missing: apt-get install nodejs"),
]


def reference(frames: tuple[Frame, ...]) -> dict[str, float]:
    done = subprocess.run(
        ["node", "-e", PROGRAM.replace("ORIGIN", str(ORIGIN_US))],
        cwd=FOLDER,
        input=json.dumps(trace(frames)),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def trace(frames: tuple[Frame, ...]) -> list[dict[str, object]]:
    """Frames as the trace events speedline reads; the picture before the navigation comes at 0."""
    before = [f for f in frames if f.time_ms <= 0][-1:] or frames[:1]
    blank = structs.replace(before[0], time_ms=0.0)
    return [
        {
            "cat": "disabled-by-default-devtools.screenshot",
            "name": "Screenshot",
            "ts": round(ORIGIN_US + f.time_ms * 1000),
            "args": {"snapshot": base64.b64encode(f.jpeg).decode()},
        }
        for f in (blank, *(f for f in frames if f.time_ms > 0))
    ]


@pytest.mark.parametrize("name", ["painted", "demo"])
def test_the_reference_implementation_agrees_within_a_percent(name, tmp_path):
    made = write_page(tmp_path / "painted.har.zip", painted())
    page = made if name == "painted" else resolve("demo", tmp_path)
    client = structs.replace(CLIENT, frames=True)
    with open_testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.link.configure(NETWORK, 1)
        with chromium(bed, "h2", client) as browser, browser.fresh_tab(client) as tab:
            frames = tab.load(page.url).frames
    ours, theirs = visual(frames), reference(frames)
    assert ours
    # speedline cuts completeness down to whole percents.
    cut = [(ms, math.floor(share * 100) / 100) for ms, share in ours.progress]
    assert theirs["si"] == pytest.approx(speed_index(cut), rel=0.01)
    assert theirs["complete"] == pytest.approx(ours.lvc_ms, abs=2)
