"""Handshake physics: responseStart minus connectStart of the document, in round trips.

    uv run python bench/handshake.py [visits per stack, mode and network]

Two delays are measured, interleaved, because one alone cannot tell network from computing: the
slope between them is the number of round trips, the rest is what browser and origin compute
(certificate verification for the most part). What the browser spends before connectStart is printed
apart. TLS 1.2 saves a round trip by False Start, which Chromium always does with our cipher.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.schedule.run import Schedule, run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_stack

SHORT_MS, LONG_MS = 20.0, 100.0
ROUND_TRIPS: dict[tuple[str, ConnectionMode], int] = {
    ("h1", "first"): 3,
    ("h2", "first"): 3,
    ("h2", "repeat"): 3,
    ("TCP-TLS1.2", "first"): 3,
    ("TCP-TLS1.2", "repeat"): 3,
    ("TCP+early", "first"): 3,
    ("TCP+early", "repeat"): 2,
    ("QUIC-1RTT", "repeat"): 2,
    ("h3", "first"): 2,
    ("h3", "repeat"): 1,
}


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
            stacks=[find_stack(name) for name in dict.fromkeys(s for s, _ in ROUND_TRIPS)],
            connections=["first", "repeat"],
            runs=runs,
            seed=1,
            client=Client(),
            cache=Path(cache),
        )
        run(Schedule(study, []), lambda visit, _: visits.append(visit))
    valid = [v for v in visits if v.valid]
    print(f"{len(visits)} visits, {len(valid)} valid; one-object page; medians of valid visits")
    print(
        f"stack       visit   expected  at {LONG_MS:g} ms   min     max    round trips  computing"
        "  before it"
    )
    for (stack, mode), trips in ROUND_TRIPS.items():
        mine = [v for v in valid if (v.stack, v.connection) == (stack, mode)]
        short, long = (spans(mine, network(rtt).name) for rtt in (SHORT_MS, LONG_MS))
        if not short or not long:
            print(f"{stack:10}  {mode:6}  no valid visit at both delays")
            continue
        slope = (statistics.median(long) - statistics.median(short)) / (LONG_MS - SHORT_MS)
        computing = statistics.median(long) - slope * LONG_MS
        before = statistics.median((v.ttfb_ms or 0) - (v.connect_to_response_ms or 0) for v in mine)
        print(
            f"{stack:10}  {mode:6}  {trips * LONG_MS:6.1f}    {statistics.median(long):6.1f}"
            f"  {min(long):6.1f}  {max(long):6.1f}     {slope:6.3f}     {computing:6.1f} ms"
            f"      {before:5.1f} ms"
        )


def spans(visits: list[Visit], network: str) -> list[float]:
    mine = [v for v in visits if v.network == network]
    return [v.connect_to_response_ms for v in mine if v.connect_to_response_ms]


if __name__ == "__main__":
    main()
