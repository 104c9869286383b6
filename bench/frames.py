"""How true visual metrics are, and what looking at frames costs.

uv run python bench/frames.py [runs]

1. Boxes painted at 200, 400 and 800 ms: error of FVC, VC85, LVC and SpeedIndex, over h1, h2, h3.
2. The same frames, and those of the demo page, through speedline-core, the reference
   implementation; needs node and `npm install --ignore-scripts speedline-core` in SPEEDLINE_DIR.
3. Page load time of the demo page on LTE with and without frames, alternating.
"""

import base64
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from dragstrip.browsers.chromium import chromium
from dragstrip.browsers.load import Load
from dragstrip.browsers.screencast import Frame
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.study import Block, Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visit
from dragstrip.pages.archive import write_page
from dragstrip.pages.painted import painted
from dragstrip.pages.resolve import resolve
from dragstrip.study.presets import find_network, find_stack
from dragstrip.testbed.testbed import Testbed, testbed
from dragstrip.visit.drive import Plan, visit

WANTED_MS = {"fvc_ms": 200, "vc85_ms": 400, "lvc_ms": 800, "speed_index_ms": 400}
STACKS = ("h1", "h2", "h3")
_ORIGIN_US = 1_000_000_000
_SPEEDLINE = """
const speedline = require("speedline-core");
const events = JSON.parse(require("fs").readFileSync(0));
speedline(events, {include: "speedIndex", timeOrigin: ORIGIN})
  .then(r => console.log(JSON.stringify({first: r.first, complete: r.complete, si: r.speedIndex})));
"""


class Rig:
    """One testbed; a browser per protocol."""

    def __init__(self, bed: Testbed, page: Page, network: Network) -> None:
        self.bed, self.page, self.network = bed, page, network
        bed.origin.serve(page)

    @contextmanager
    def visits(
        self, name: str, client: Client, runs: int
    ) -> Iterator[Iterator[tuple[Visit, Load]]]:
        stack = find_stack(name)
        with chromium(self.bed, stack.protocol, client) as browser:

            def one(index: int, client: Client) -> tuple[Visit, Load]:
                block = Block(
                    page=self.page.name,
                    network=self.network.name,
                    index=index,
                    seed=index,
                    order=(name,),
                )
                plan = Plan(
                    block=block,
                    attempt=0,
                    page=self.page,
                    network=self.network,
                    stack=stack,
                    client=client,
                    thresholds=Thresholds(),
                )
                return visit(self.bed, browser, plan)

            one(0, client)  # warms up
            yield (
                one(i, structs.replace(client, frames=frames))
                for i in range(1, runs + 1)
                for frames in ((True, False) if not client.frames else (True,))
            )


def boxes(runs: int, kept: dict[str, Load]) -> None:
    print(f"boxes at 200, 400, 800 ms, {runs} visits each: error in ms, median (worst)")
    near = Network.parse("100mbit/100mbit/5ms/0%/200ms")
    with tempfile.TemporaryDirectory() as folder:
        page = write_page(Path(folder) / "painted.har.zip", painted())
        with testbed(page.hosts) as bed:
            for name in STACKS:
                with Rig(bed, page, near).visits(name, Client(frames=True), runs) as visits:
                    made = list(visits)
                kept[f"painted {name}"] = made[-1][1]
                errors = {
                    metric: [
                        getattr(v.visual, metric) - wanted
                        for v, _ in made
                        if v.visual and v.visual.fvc_ms is not None
                    ]
                    for metric, wanted in WANTED_MS.items()
                }
                row = (
                    f"{m[:-3]} {statistics.median(e):+5.1f} ({max(e, key=abs):+5.1f})"
                    for m, e in errors.items()
                )
                within = sum(
                    all(abs(e[i]) <= 20 for e in errors.values()) for i in range(len(made))
                )
                print(f"  {name}: {'  '.join(row)}  all within 20 ms: {within} of {len(made)}")


def cost(runs: int, kept: dict[str, Load]) -> None:
    print(f"demo page over LTE, {runs} pairs of visits each with and without frames:")
    with tempfile.TemporaryDirectory() as cache:
        page = resolve("demo", Path(cache))
        with testbed(page.hosts) as bed:
            for name in STACKS:
                with Rig(bed, page, find_network("LTE")).visits(name, Client(), runs) as visits:
                    made = list(visits)
                seen = [v for v, _ in made if v.visual]
                blind = [v for v, _ in made if not v.visual]
                kept[f"demo {name}"] = next(load for v, load in made if v.visual)
                print(
                    f"  {name}: PLT {_plt(seen):.0f} ms with, {_plt(blind):.0f} ms without; "
                    f"collecting {_collect(seen):.0f} and {_collect(blind):.0f} ms; "
                    f"{statistics.median(v.visual.frames for v in seen if v.visual):.0f} frames; "
                    f"differences "
                    + " ".join(
                        f"{(a.plt_ms or 0) - (b.plt_ms or 0):+.0f}"
                        for a, b in zip(seen, blind, strict=True)
                    )
                )


def _plt(visits: list[Visit]) -> float:
    return statistics.median(v.plt_ms or 0 for v in visits)


def _collect(visits: list[Visit]) -> float:
    return statistics.median(v.overhead.collect_ms for v in visits if v.overhead)


def reference(kept: dict[str, Load]) -> None:
    folder = os.environ.get("SPEEDLINE_DIR")
    if not folder:
        print("speedline-core: SPEEDLINE_DIR is not set, not compared")
        return
    from dragstrip.visit.frames import speed_index, visual

    print("the same frames through dragstrip and speedline-core: SpeedIndex, last change (ms)")
    print("(in brackets ours with completeness cut to whole percents, as speedline does)")
    for name, load in kept.items():
        ours = visual(load.frames)
        done = subprocess.run(
            ["node", "-e", _SPEEDLINE.replace("ORIGIN", str(_ORIGIN_US))],
            cwd=folder,
            input=json.dumps(_trace(load.frames)),
            capture_output=True,
            text=True,
            check=True,
        )
        theirs = json.loads(done.stdout)
        assert ours
        cut = [(ms, math.floor(share * 100) / 100) for ms, share in ours.progress]
        assert ours.speed_index_ms is not None
        print(
            f"  {name}: {ours.speed_index_ms:.1f} ({speed_index(cut):.1f}) and {theirs['si']:.1f}; "
            f"{ours.lvc_ms:.1f} and {theirs['complete']:.1f}"
        )


def _trace(frames: tuple[Frame, ...]) -> list[dict[str, object]]:
    """Frames as the trace events speedline reads; the picture before the navigation comes at 0."""
    before = [f for f in frames if f.time_ms <= 0][-1:] or frames[:1]
    blank = structs.replace(before[0], time_ms=0.0)
    return [
        {
            "cat": "disabled-by-default-devtools.screenshot",
            "name": "Screenshot",
            "ts": round(_ORIGIN_US + f.time_ms * 1000),
            "args": {"snapshot": base64.b64encode(f.jpeg).decode()},
        }
        for f in (blank, *(f for f in frames if f.time_ms > 0))
    ]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    kept: dict[str, Load] = {}
    boxes(runs, kept)
    cost(runs, kept)
    reference(kept)


if __name__ == "__main__":
    main()
