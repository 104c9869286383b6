"""What servers do when a NAT gives their client another port in the middle of a page.

    uv run python bench/protocols/rebinding.py CAPSULE

Reads a capsule of docs/results/rebinding-servers.toml, whose packets are kept, and writes the table
of docs/results/moving-links.md. Needs tshark.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec import Struct

from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule

OUT = Path("docs/results/moving-links.md")
BEGIN, END = "<!-- servers -->", "<!-- end of servers -->"
REBOUND_MS = 600.0
DUE = re.compile(r"due ([0-9.]+) ms after its arrival")


class Seen(Struct, frozen=True):
    """What one visit's packets show. Times are ms after its first packet."""

    silence_ms: float | None
    """The longest time between packets at the client after the rebinding; None if no more came."""
    followed_ms: float | None
    """Time from the rebinding to the server's first packet that reaches the client's first port.
    None: there is none, or the client had used another port of its own before."""
    dropped: int
    """Packets to the old port."""
    client_ports: int


def main() -> None:
    capsule = Path(sys.argv[1])
    rows: dict[str, list[tuple[Visit, Seen]]] = {}
    for visit in Capsule.open(capsule).visits():
        repetition = visit.block.rpartition("|")[2]
        name = f"*-{repetition}-{visit.stack}-{visit.attempt}.pcapng"
        (capture,) = (capsule / "pcap").glob(name)
        if visit.valid:
            rows.setdefault(visit.stack, []).append((visit, seen(capture)))
    table = "\n".join([BEGIN, "", *page(rows), "", END])
    head, _, rest = OUT.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    OUT.write_text(head + table + tail)
    print(table)


def seen(capture: Path) -> Seen:
    fields = "frame.time_relative frame.interface_name frame.comment udp.srcport udp.dstport"
    words = [word for field in fields.split() for word in ("-e", field)]
    command = ["tshark", "-r", str(capture), "-Y", "udp && !icmp", "-T", "fields", *words]
    said = subprocess.run(command, capture_output=True, check=True, text=True)
    arrived, ports = [REBOUND_MS], list[str]()
    dropped, followed = 0, None
    for line in said.stdout.splitlines():
        seconds, way, comment, source, target = line.split("\t")
        sent_ms = 1000 * float(seconds)
        due = DUE.search(comment)
        if way == "up":
            ports += [] if source in ports else [source]
            continue
        dropped += "dropped: nat" in comment
        if due and sent_ms > REBOUND_MS:
            arrived.append(sent_ms + float(due[1]))
            if followed is None and ports == [target]:
                followed = sent_ms - REBOUND_MS
    gaps = (after - before for before, after in pairwise(sorted(arrived)))
    silence = max(gaps, default=None)
    return Seen(silence, followed, dropped, len(ports))


def page(rows: dict[str, list[tuple[Visit, Seen]]]) -> Iterator[str]:
    yield "| stack | ended | page load | images lost | silence | followed after | dropped | ports |"
    yield "|---|---|---|---|---|---|---|---|"
    for stack, visits in sorted(rows.items(), key=lambda row: times(row[1])):
        whole = sum(not failed(visit) for visit, _ in visits)
        followed = [one.followed_ms for _, one in visits if one.followed_ms is not None]
        silent = [one.silence_ms for _, one in visits if one.silence_ms is not None]
        cells = (
            f"`{stack}`",
            f"{whole} of {len(visits)}",
            told([visit.plt_ms or 0.0 for visit, _ in visits]),
            f"{median(failed(visit) for visit, _ in visits):g}",
            " ".join([told(silent), *([f"in {len(silent)}"] if len(silent) < len(visits) else [])]),
            told(followed) if len(followed) == len(visits) else f"{len(followed)} of {len(visits)}",
            f"{median(one.dropped for _, one in visits):g}",
            f"{median(one.client_ports for _, one in visits):g}",
        )
        yield f"| {' | '.join(cells)} |"


def times(visits: Sequence[tuple[Visit, Seen]]) -> float:
    return median(visit.plt_ms or 0.0 for visit, _ in visits)


def failed(visit: Visit) -> int:
    return sum(bool(request.error) for request in visit.requests)


def told(values_ms: Sequence[float]) -> str:
    if not values_ms:
        return "none"
    least, most = min(values_ms) / 1000, max(values_ms) / 1000
    return f"{median(values_ms) / 1000:.2f} s ({least:.2f} to {most:.2f})"


if __name__ == "__main__":
    main()
