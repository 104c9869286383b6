"""Handshake physics: responseStart minus connectStart of a cold connection, in round trips.

    uv run python bench/handshake.py [visits per stack and network]

Expected: h1 and h2 three round trips (TCP, TLS 1.3, request), h3 two. Two delays are measured,
interleaved, because one alone cannot tell network from computing: the slope between them is the
number of round trips, the rest is what browser and origin compute (certificate verification for
the most part). What the browser spends before connectStart is printed apart.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.schedule.run import Schedule, run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_stack

SHORT_MS, LONG_MS = 20.0, 100.0
ROUND_TRIPS = {"h1": 3, "h2": 3, "h3": 2}


def network(rtt_ms: float) -> Network:
    return Network.parse(f"100mbit/100mbit/{rtt_ms / 2:g}ms/0%/200ms")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as cache:
        study = make_study(
            name="handshake",
            pages=["synth:1x1KB"],
            networks=[network(SHORT_MS), network(LONG_MS)],
            stacks=[find_stack(name) for name in ROUND_TRIPS],
            runs=runs,
            seed=1,
            client=Client(),
            cache=Path(cache),
        )
        run(Schedule(study, []), lambda visit, _: visits.append(visit))
    valid = [v for v in visits if v.valid]
    print(f"{len(visits)} visits, {len(valid)} valid; one-object page; medians of valid visits")
    print(f"stack  expected  at {LONG_MS:g} ms   min     max    round trips  computing  before it")
    for stack, trips in ROUND_TRIPS.items():
        short, long = (spans(valid, stack, network(rtt).name) for rtt in (SHORT_MS, LONG_MS))
        slope = (statistics.median(long) - statistics.median(short)) / (LONG_MS - SHORT_MS)
        computing = statistics.median(long) - slope * LONG_MS
        before = statistics.median(
            (v.ttfb_ms or 0) - (v.connect_to_response_ms or 0) for v in valid if v.stack == stack
        )
        print(
            f"{stack:5}  {trips * LONG_MS:6.1f}    {statistics.median(long):6.1f}  {min(long):6.1f}"
            f"  {max(long):6.1f}     {slope:6.3f}     {computing:6.1f} ms      {before:5.1f} ms"
        )


def spans(visits: list[Visit], stack: str, network: str) -> list[float]:
    mine = [v for v in visits if v.stack == stack and v.network == network]
    return [v.connect_to_response_ms for v in mine if v.connect_to_response_ms]


if __name__ == "__main__":
    main()
