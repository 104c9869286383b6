"""Handshake physics: responseStart minus connectStart, in round trips, at 100 ms.

    uv run python bench/handshake.py [visits per stack]

Expected for a cold connection: h2 three round trips (TCP, TLS 1.3, request), h3 two. What the
browser spends before connectStart is printed apart.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.schedule.run import run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_stack

RTT_MS = 100.0
ROUND_TRIPS = {"h1": 3, "h2": 3, "h3": 2}


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as cache:
        study = make_study(
            name="handshake",
            pages=["synth:1x1KB"],
            networks=[Network.parse("100mbit/100mbit/50ms/0%/200ms")],
            stacks=[find_stack(name) for name in ROUND_TRIPS],
            runs=runs,
            seed=1,
            client=Client(),
            cache=Path(cache),
        )
        run(study, [], lambda visit, _: visits.append(visit))
    print(f"{runs} interleaved visits per stack, {RTT_MS:g} ms round trip, one-object page")
    print("stack  expected  median  error   min     max     before connectStart  valid")
    for stack, trips in ROUND_TRIPS.items():
        mine = [v for v in visits if v.stack == stack and v.ttfb_ms and v.connect_to_response_ms]
        spans = [v.connect_to_response_ms or 0 for v in mine]
        before = statistics.median((v.ttfb_ms or 0) - (v.connect_to_response_ms or 0) for v in mine)
        median = statistics.median(spans)
        print(
            f"{stack:5}  {trips * RTT_MS:6.1f}    {median:6.1f}  {median - trips * RTT_MS:+5.1f}  "
            f"{min(spans):6.1f}  {max(spans):6.1f}  {before:10.1f} ms        "
            f"{sum(v.valid for v in mine)}/{len(mine)}"
        )


if __name__ == "__main__":
    main()
