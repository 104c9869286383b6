"""Which answer's bytes go first? Our h2 and h3, and other servers, on pages that make them choose.

    uv run python bench/origin/scheduling.py FOLDER [--only PATTERN...] [--write]

Chromium loads each page of patterns.py in virtual time. Times count from when the browser sent the
first request that is watched. FOLDER keeps the capsules, so an interrupted bench resumes. `--write`
puts docs/reference/scheduling.md and its picture there. All of it takes about an hour.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import msgspec
from msgspec import structs
from patterns import Pattern, patterns, write
from picture import Row, draw

import dragstrip
from dragstrip.model.network import Network
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

OUT = Path(__file__).parents[2] / "docs" / "reference"
SERVERS = ("", "nginx-", "haproxy-", "caddy-today-")
STACKS = tuple(f"{server}{protocol}" for server in SERVERS for protocol in ("h2", "h3"))
RATES = (1.0, 5.0, 50.0)
DELAY_MS = 25
RECORD_KBIT = 16_384 * 8e-3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = []
    for pattern in patterns():
        if not asked.only or pattern.name in asked.only:
            rows += list(raced(pattern, asked.folder))
    text = "\n".join(page(rows))
    print(text)
    if asked.write:
        (OUT / "scheduling.json").write_bytes(msgspec.json.encode(rows) + b"\n")
        (OUT / "scheduling.md").write_text(f"{text}\n")
        draw(rows, OUT / "scheduling.png")


def raced(pattern: Pattern, folder: Path) -> Iterator[Row]:
    """One row per stack and rate, of valid visits."""
    out = folder / pattern.name
    dragstrip.run(study(pattern, folder), out=out, virtual=True)
    for visit in Capsule.open(out).visits():
        ends = dict(times(visit, pattern)) if visit.valid else {}
        yield Row(
            pattern=pattern.name,
            words=pattern.words,
            mbps=float(visit.network.split()[0]),
            stack=visit.stack,
            ends_ms=ends,
        )


def study(pattern: Pattern, folder: Path) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    made = StudySpec(
        name=f"scheduling-{pattern.name}",
        pages=[str(write(pattern, folder.absolute()))],
        networks=[network(rate, pattern) for rate in RATES],
        stacks=[find_stack(name) for name in STACKS],
        runs=1,
        seed=1,
        client=Client(),
        think_time=True,
    ).resolve(folder.absolute() / "pages")
    return structs.replace(made, reruns=0)


def network(rate: float, pattern: Pattern) -> Network:
    up = pattern.up_mbps or max(rate / 5, 1.0)
    parsed = Network.parse(f"{rate}mbit/{up}mbit/{DELAY_MS}ms/0%/200ms")
    return structs.replace(parsed, name=f"{rate:g} Mbit/s")


def times(visit: Visit, pattern: Pattern) -> Iterator[tuple[str, float]]:
    """Path and end of each watched object, ms after the first of them was sent."""
    seen = [r for r in visit.requests if r.url.endswith(pattern.watched)]
    begun = min(r.send_start_ms for r in seen if r.send_start_ms is not None)
    for request in seen:
        if request.end_ms is not None:
            yield request.url.rpartition("/")[2], round(request.end_ms - begun, 1)


def page(rows: Iterable[Row]) -> Iterator[str]:
    rows = list(rows)
    yield "# Whose bytes go first"
    yield ""
    yield (
        "`uv run python bench/origin/scheduling.py FOLDER --write`: Chromium in virtual time, "
        f"round trip {2 * DELAY_MS} ms, 200 ms of queue. Times in ms, from the first watched "
        "request to the end of an answer; of several answers the first, the middle one and the "
        "last. Beside the upload, Chromium decides when the image's request leaves: a server that "
        "takes little of the upload at a time may get it earlier."
    )
    yield ""
    yield "![Times by server](scheduling.png)"
    for name in dict.fromkeys(row.pattern for row in rows):
        mine = [row for row in rows if row.pattern == name]
        rates = sorted({row.mbps for row in mine})
        yield ""
        yield f"## {mine[0].words[0].upper()}{mine[0].words[1:]}"
        yield ""
        yield "| stack | " + " | ".join(f"{rate:g} Mbit/s" for rate in rates) + " |"
        yield "|---" * (len(rates) + 1) + "|"
        for stack in STACKS:
            told = {row.mbps: row for row in mine if row.stack == stack}
            yield f"| {stack} | " + " | ".join(shown(told.get(rate)) for rate in rates) + " |"
    yield ""
    yield "## How far our h2 and h3 agree"
    yield ""
    yield (
        "The same answers, h3 against h2: the share of pairs that end in the same order, and the "
        "largest difference between two ends of one answer, in ms and in TLS records of 16 KB on "
        "the line. h2 decides on a record at once."
    )
    yield ""
    yield "| pattern | Mbit/s | same order | largest difference, ms | records |"
    yield "|---" * 5 + "|"
    for row in rows:
        if row.stack == "h2":
            other = next(r for r in rows if r.stack == "h3" and same(r, row))
            yield agreement(row, other)


def same(a: Row, b: Row) -> bool:
    return (a.pattern, a.mbps) == (b.pattern, b.mbps)


def shown(row: Row | None) -> str:
    ends = sorted(row.ends_ms.values()) if row else []
    if not ends:
        return "not valid" if row else "-"
    if len(ends) == 1:
        return f"{ends[0]:.0f}"
    return f"{ends[0]:.0f}, {median(ends):.0f}, {ends[-1]:.0f}"


def agreement(h2: Row, h3: Row) -> str:
    a, b = h2.ends_ms, h3.ends_ms
    both = sorted(set(a) & set(b))
    pairs = [(x, y) for i, x in enumerate(both) for y in both[i + 1 :]]
    alike = [(a[x] - a[y]) * (b[x] - b[y]) >= 0 for x, y in pairs]
    order = f"{sum(alike) / len(alike):.0%}" if alike else "-"
    apart = max((abs(a[x] - b[x]) for x in both), default=0.0)
    records = apart / (RECORD_KBIT / h2.mbps)
    return f"| {h2.pattern} | {h2.mbps:g} | {order} | {apart:.0f} | {records:.1f} |"


if __name__ == "__main__":
    main()
