"""TCP Fast Open beside early data and 0-RTT: docs/results/tfo.md.

    uv run python packages/papers/bench/tfo.py CAPSULE MIDDLEBOX

CAPSULE of docs/results/tfo.toml, MIDDLEBOX of docs/results/tfo-middlebox.toml. What was opened how
is by the client's kernel (TCP_INFO); what was dropped by the link.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import altair as alt
from results import about
from tfo_words import ANSWER, CLOSING, MIDDLEBOX, OPENING, PROOF, TIMES

from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule

DOCS = Path(__file__).parents[3] / "docs" / "results"
Key = tuple[str, str, str]


def main() -> None:
    capsule, middlebox = (Capsule.open(Path(name)) for name in sys.argv[1:3])
    visits, met = ([v for v in c.visits() if v.valid] for c in (capsule, middlebox))
    stacks, theirs = ([s.name for s in c.manifest.study.stacks] for c in (capsule, middlebox))
    lines = [
        OPENING,
        *round_trips(capsule, visits, stacks),
        "",
        ANSWER,
        *made(capsule),
        "",
        TIMES,
        *times(visits, stacks, "first", _plt),
        "",
        "Repeat visits, page load time and first byte, s:",
        "",
        *times(visits, stacks, "repeat", _plt, _ttfb),
        "",
        PROOF,
        *proof(visits, stacks),
        "",
        MIDDLEBOX,
        *made(middlebox),
        "",
        *times(met, theirs, "repeat", _plt, _ttfb),
        "",
        *proof(met, theirs),
        "",
        CLOSING,
    ]
    (DOCS / "tfo.md").write_text("\n".join([*lines, ""]))
    draw(visits, stacks)


def _plt(visit: Visit) -> float | None:
    return visit.plt_ms


def _ttfb(visit: Visit) -> float | None:
    return visit.ttfb_ms


def made(capsule: Capsule) -> list[str]:
    """How the visits were made, and with which controls. The guests' clock does not show how long
    it took."""
    visits = list(capsule.visits())
    first, *others = about(capsule, visits)
    blocks = Counter((v.page, v.network, v.connection) for v in visits if v.stack == "TCP+")
    few, many = min(blocks.values()), max(blocks.values())
    said = f"{len(visits)} visits{first[first.index(',') :]} Blocks per cell: {few} to {many}."
    return [said, *others]


def round_trips(capsule: Capsule, visits: Sequence[Visit], stacks: Sequence[str]) -> Iterator[str]:
    """First byte of repeat visits, in round trips of networks that lose nothing."""
    yield f"| page | network | {' | '.join(stacks)} |"
    yield "|---" * (2 + len(stacks)) + "|"
    for network in capsule.manifest.study.networks:
        if network.up.loss or network.down.loss:
            continue
        mine = [v for v in visits if v.connection == "repeat" and v.network == network.name]
        for page in sorted({v.page for v in mine}):
            cells = [
                median(v.ttfb_ms or 0.0 for v in mine if (v.page, v.stack) == (page, stack))
                / network.least_rtt_ms
                for stack in stacks
            ]
            shown = " | ".join(f"{cell:.2f}" for cell in cells)
            yield f"| {page} | {network.name} | {shown} |"


def times(
    visits: Sequence[Visit],
    stacks: Sequence[str],
    connection: str,
    *reads: Callable[[Visit], float | None],
) -> Iterator[str]:
    """A row per page and network, medians in s."""
    yield f"| page | network | {' | '.join(stacks)} |"
    yield "|---" * (2 + len(stacks)) + "|"
    mine = [v for v in visits if v.connection == connection]
    for page, network in sorted({(v.page, v.network) for v in mine}):
        cells = []
        for stack in stacks:
            of_it = [v for v in mine if (v.page, v.network, v.stack) == (page, network, stack)]
            cells.append(" · ".join(_median(of_it, read) for read in reads))
        yield f"| {page} | {network} | {' | '.join(cells)} |"


def _median(visits: Sequence[Visit], read: Callable[[Visit], float | None]) -> str:
    known = [value for v in visits if (value := read(v)) is not None]
    return f"{median(known) / 1000:.3f}" if known else "-"


def proof(visits: Sequence[Visit], stacks: Sequence[str]) -> Iterator[str]:
    """How each stack's TCP connections were opened, and what the link dropped on the way up."""
    yield "| stack | visits | SYN's data acknowledged | plain SYN | data refused | SYNs dropped |"
    yield "|---" * 6 + "|"
    for stack in stacks:
        for connection in ("first", "repeat"):
            mine = [v for v in visits if (v.stack, v.connection) == (stack, connection)]
            if not any(c.opening != "not-asked" for v in mine for c in v.fast_open):
                continue
            count = Counter(c.opening for v in mine for c in v.fast_open)
            dropped = sum(v.link.up.dropped_syn_data for v in mine if v.link)
            shown = (count["accepted"], count["no-cookie"], count["refused"], dropped)
            yield f"| {stack} | {connection}, {len(mine)} | {' | '.join(map(str, shown))} |"


def draw(visits: Sequence[Visit], stacks: Sequence[str]) -> None:
    rows = [
        {"stack": v.stack, "first byte, s": v.ttfb_ms / 1000, "network": v.network}
        for v in visits
        if v.connection == "repeat" and v.stack in stacks and v.ttfb_ms is not None
    ]
    networks = list(dict.fromkeys(row["network"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_tick(thickness=2)
        .encode(
            x=alt.X("first byte, s:Q", scale=alt.Scale(zero=True)),
            y=alt.Y("stack:N", sort=list(stacks), title=None),
        )
        .properties(width=260, height=140)
        .facet(facet=alt.Facet("network:N", sort=networks, title=None), columns=2)
        .resolve_scale(x="independent")
    )
    chart.properties(padding={"left": 25, "top": 5, "right": 5, "bottom": 5}).save(DOCS / "tfo.svg")


if __name__ == "__main__":
    main()
