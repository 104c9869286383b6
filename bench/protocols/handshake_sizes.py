"""Round trips to the first byte by the size of the certificate chain: theory beside measurement.

    uv run python bench/protocols/handshake_sizes.py FOLDER [--write]

The load generator fetches a page of one object in virtual time, without computing, over a link so
fast that only round trips count. FOLDER keeps the capsule, so an interrupted bench goes on.
`--write` puts docs/reference/handshake-sizes.md and its picture there.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import altair as alt
import polars as pl
from msgspec import Struct

import dragstrip

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PAGE, PICTURE = DOCS / "handshake-sizes.md", DOCS / "handshake-sizes.svg"
NETWORK, RTT_MS = "1000mbit/1000mbit/50ms/0%/200ms", 100.0
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 25, 30)
"""Chains in kB."""
WINDOWS = (10, 32)
PROTOCOLS = ("h1", "h2", "h3")

SEGMENT = 1448
"""Bytes of TCP in a packet of 1500 bytes, with timestamps."""
DATAGRAM = 1452
"""Bytes of QUIC in a packet of 1500 bytes over IPv6: the stacks' `udp_payload_bytes`."""
HEADERS = 45
"""Bytes of a QUIC Handshake packet that are not CRYPTO data: header, frame and tag."""
CARRIED_TCP, CARRIED_QUIC = 330, 370
"""Bytes of a server's flight besides its certificates: ServerHello, EncryptedExtensions (over QUIC
with transport parameters), CertificateVerify, Finished, and the records around them."""
HELLO = 2 * 1250
"""Bytes of the client's first flight over QUIC: two padded packets, with a post-quantum key."""
FACTOR = 3
"""RFC 9000 section 8.1."""


class Row(Struct, frozen=True):
    kilobytes: int
    protocol: str
    window: int
    expected: int
    """Round trips to the first byte."""
    measured: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = measured(asked.folder)
    text = "\n".join(page(rows))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")
        draw(rows, PICTURE)


def expected(protocol: str, window: int, chain_bytes: int) -> int:
    """Round trips to the first byte. The request takes one, and TCP's handshake another. Each
    flight of the server that a window or the limit of RFC 9000 ends takes one more, until the whole
    handshake has arrived. In slow start the next flight is larger by what was acknowledged."""
    if protocol == "h3":
        per_packet = DATAGRAM - HEADERS
        left = chain_bytes + CARRIED_QUIC
        flight = min(window, FACTOR * HELLO / DATAGRAM) * per_packet
        later = window * per_packet + flight
    else:
        left = chain_bytes + CARRIED_TCP
        flight = window * SEGMENT
        later = 2 * flight
    flights = 1
    while left > flight:
        left -= flight
        flight, later = later, 2 * later
        flights += 1
    return flights + (1 if protocol == "h3" else 2)


def measured(folder: Path) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "handshake-sizes.toml"
    study.write_text("\n".join(study_lines()))
    made = dragstrip.run(study, out=folder / "capsule")
    visits = made.visits().filter(pl.col("valid") & pl.col("stack").str.contains(" kB"))
    found: Mapping[str, float] = dict(visits.select("stack", "connect_to_response_ms").iter_rows())
    return [
        Row(size, protocol, window, expected(protocol, window, size * 1000), ms / RTT_MS)
        for size in SIZES
        for protocol in PROTOCOLS
        for window in WINDOWS
        if (ms := found.get(name(protocol, window, size))) is not None
    ]


def name(protocol: str, window: int, kilobytes: int) -> str:
    return f"{protocol}, window {window}, {kilobytes} kB"


def study_lines() -> Iterator[str]:
    stacks = [(p, w, s) for p in PROTOCOLS for w in WINDOWS for s in SIZES]
    named = ", ".join(f'"{name(*one)}"' for one in stacks)
    yield 'pages = ["synth:1x1KB"]'
    yield f'networks = ["{NETWORK}"]'
    yield f"stacks = [{named}]"
    yield "runs = 1"
    yield 'clock = { kind = "network" }'
    yield 'client = { program = "loader" }'
    for protocol, window, size in stacks:
        yield f'[stack."{name(protocol, window, size)}"]'
        yield f'base = "{protocol}"'
        yield f"initial_window_packets = {window}"
        yield f"certificate_bytes = {size * 1000}"


def page(rows: list[Row]) -> Iterator[str]:
    yield "# Round trips by the size of the certificate chain"
    yield ""
    yield (
        f"`uv run python bench/protocols/handshake_sizes.py FOLDER --write`: {len(rows)} loads of "
        f"`synth:1x1KB` by the load generator over `{NETWORK}` (round trip {RTT_MS:g} ms), first "
        "visits, in virtual time without computing. Time from the connection's start to the first "
        "byte, in round trips: theory, measured. **Bold** where they differ by half or more."
    )
    yield ""
    heads = [f"{p}, window {w}" for p in PROTOCOLS for w in WINDOWS]
    yield f"| chain | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for size in SIZES:
        mine = {(r.protocol, r.window): r for r in rows if r.kilobytes == size}
        cells = [shown(mine.get((p, w))) for p in PROTOCOLS for w in WINDOWS]
        yield f"| {size} kB | {' | '.join(cells)} |"
    yield ""
    yield "![The table as steps](handshake-sizes.svg)"
    yield ""
    most = FACTOR * HELLO
    yield (
        f"**Theory.** The first flight of a QUIC server ends at the initial window, or at {FACTOR} "
        f"times the bytes that it received (RFC 9000 section 8.1): {FACTOR} times {HELLO:,}, "
        f""
        f"{most:,} bytes, of which about {most * (DATAGRAM - HEADERS) // DATAGRAM:,} carry "
        f"handshake. A TCP server's ends at its window: {10 * SEGMENT:,} "
        "bytes, or 46,336. What follows is a flight of the window, grown by what was acknowledged."
    )
    yield ""
    yield (
        "**Our origin.** Its QUIC library (quinn) begins another packet as long as any of the "
        "limit is left, so it may send up to one packet more than RFC 9000 allows. That is where "
        "theory and measurement differ by a round trip."
    )
    yield ""
    yield (
        "**Fractions** of a round trip are pacing. `h3` spreads what follows the first flight over "
        "the round trip, with either window; `h1` and `h2` send it at once."
    )


def shown(row: Row | None) -> str:
    if row is None:
        return "-"
    text = f"{row.expected}, {row.measured:.2f}"
    return f"**{text}**" if abs(row.measured - row.expected) >= 0.5 else text


def draw(rows: list[Row], path: Path) -> None:
    values = [
        {
            "kB": row.kilobytes,
            "stack": f"{row.protocol}, window {row.window}",
            "trips": trips,
            "what": what,
        }
        for row in rows
        for what, trips in (("theory", row.expected), ("measured", row.measured))
    ]
    base = alt.Chart().encode(
        x=alt.X("kB:Q", title="certificate chain in kB"),
        y=alt.Y("trips:Q", title="round trips to the first byte", scale=alt.Scale(domain=[1.5, 5])),
    )
    theory = base.transform_filter("datum.what == 'theory'").mark_line(
        interpolate="step-before", color="#999999"
    )
    seen = base.transform_filter("datum.what == 'measured'").mark_point(filled=True, size=40)
    chart = alt.layer(theory, seen, data=alt.Data(values=values)).properties(width=230, height=150)
    chart.facet(alt.Facet("stack:N", title=None), columns=2).save(path)


if __name__ == "__main__":
    main()
