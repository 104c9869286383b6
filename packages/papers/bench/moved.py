"""Which published answers rest on loads that today's code makes otherwise?

    uv run python packages/papers/bench/moved.py FOLDER [TABLE...] [--cells 8]

Writes docs/results/moved.md. Makes first blocks of some cells of each table in docs/results/loads
again, in virtual time, and compares load by load: same page, network, seed and stack. Tables that
were made in virtual time are compared with themselves. Those from real time are compared as ratios
between stacks, which other machines' computing changes as well. FOLDER keeps the loads, so an
interrupted bench goes on. A cell takes about half a minute.
"""

import argparse
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from msgspec import Struct

RESULTS = Path(__file__).parents[3] / "docs" / "results"
KEY = ["page", "network", "connection"]
LEAST = 0.01
"""Smaller changes of a ratio are not marked."""


class Moved(Struct, frozen=True):
    """One stack against the table's first, over the cells that were made again."""

    table: str
    real_time: bool
    study: str
    stack: str
    against: str
    cells: int
    own: float
    """Median over the cells of the stack's load time, today / published, first blocks."""
    low: float
    high: float
    """The middle 80 % of the cells' published ratio to `against`, today / published."""
    ratio: float
    """The median of that."""
    spread: float
    """Median over cells of the published ratio's half width: the middle 80 % of its blocks."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--cells", type=int, default=8, help="at most, of each study of a table")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    tables = asked.tables or [file.stem for file in sorted((RESULTS / "loads").glob("*.parquet"))]
    rows = [row for table in tables for row in moved(table, folder / table, asked.cells)]
    text = "\n".join(page(rows, asked.cells)) + "\n"
    print(text)
    if not asked.tables:
        (RESULTS / "moved.md").write_text(text)


def moved(table: str, folder: Path, most: int) -> Iterator[Moved]:
    published = pl.read_parquet(RESULTS / "loads" / f"{table}.parquet")
    published = published.filter(~pl.col("censored"), pl.col("plt_ms") > 0)
    text = (RESULTS / f"{table}.md").read_text()
    for (study,), of_study in published.group_by("study", maintain_order=True):
        chosen = cells(of_study, most)
        client = ["--client", "loader"] if "--client loader" in text else []
        made = again(table.partition("-")[0], str(study), chosen, client, folder / str(study))
        if made is not None:
            real_time = "--virtual" not in text
            yield from compared(table, real_time, str(study), of_study, made)


def cells(loads: pl.DataFrame, most: int) -> pl.DataFrame:
    """Page and network of at most `most` cells, evenly spread in the order of their load times."""
    ordered = loads.group_by(KEY[:2]).agg(pl.col("plt_ms").median()).sort("plt_ms", *KEY[:2])
    step = max(1, -(-len(ordered) // most))
    return ordered.gather_every(step, offset=step // 2)


def again(
    paper: str, study: str, chosen: pl.DataFrame, client: list[str], folder: Path
) -> pl.DataFrame | None:
    """First blocks of these cells as today's code makes them."""
    found = []
    for page, network, _ in chosen.iter_rows():
        out = folder / f"{page}-{network}"
        loads = out / "loads.parquet"
        if not loads.exists():
            command = [
                *("dragstrip", "reproduce", paper, "--virtual", "--no-computing", *client),
                *("--study", study),
                *("--page", named(paper, page), "--network", network, "--scale", "1/1000"),
                *("--controls-every", "1000", "--out", str(out)),
            ]
            print(" ".join(command), flush=True)
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if loads.exists():
            found.append(pl.read_parquet(loads).filter(pl.col("plt_ms") > 0))
    return pl.concat(found, how="diagonal_relaxed") if found else None


def named(paper: str, page: str) -> str:
    """A page's name in a table, as `--page` takes it."""
    kind, _, rest = page.partition("-")
    return f"synth:{rest}" if kind == "synth" else f"{paper}/{rest}"


def compared(
    table: str, real_time: bool, study: str, published: pl.DataFrame, made: pl.DataFrame
) -> Iterator[Moved]:
    first = published.filter(pl.col("block").str.ends_with("|0"))
    made = made.filter(pl.col("block").str.ends_with("|0"), pl.col("study") == study)
    both = first.join(made, on=[*KEY, "stack"], suffix="_today")
    stacks = sorted(both["stack"].unique())
    reference = next((s for s in stacks if not s.startswith(("QUIC", "h3"))), "")
    for stack in stacks:
        mine = both.filter(stack=stack)
        own = (mine["plt_ms_today"] / mine["plt_ms"]).median()
        pairs = mine.join(both.filter(stack=reference), on=KEY, suffix="_other")
        if stack == reference or not len(pairs):
            change = pl.Series([1.0])
        else:
            change = (pairs["plt_ms_today"] / pairs["plt_ms_today_other"]) / (
                pairs["plt_ms"] / pairs["plt_ms_other"]
            )
        yield Moved(
            table=table,
            real_time=real_time,
            study=study,
            stack=stack,
            against=reference,
            cells=len(mine),
            own=own,
            low=change.quantile(0.1),
            high=change.quantile(0.9),
            ratio=change.median(),
            spread=spread(published, stack, reference, mine),
        )


def spread(published: pl.DataFrame, stack: str, reference: str, cells_of: pl.DataFrame) -> float:
    a = published.filter(stack=stack).join(cells_of.select(KEY), on=KEY)
    b = published.filter(stack=reference)
    ratios = a.join(b, on=["block", *KEY], suffix="_other").with_columns(
        ratio=pl.col("plt_ms") / pl.col("plt_ms_other")
    )
    widths = ratios.group_by(KEY).agg(
        width=(pl.col("ratio").quantile(0.9) - pl.col("ratio").quantile(0.1))
        / (2 * pl.col("ratio").median())
    )
    return widths["width"].median() or 0.0


def page(rows: list[Moved], most: int) -> Iterator[str]:
    compared_rows = [row for row in rows if row.stack != row.against]
    yield "# What today's origin changes in published loads"
    yield ""
    yield f"    uv run python packages/papers/bench/moved.py FOLDER --cells {most}"
    yield ""
    yield (
        f"First blocks of up to {most} cells of each study in {len({r.table for r in rows})} "
        "tables of loads, made again in virtual time with the network alone. *Own* is a stack's "
        "load time today by the published one, in the median of the cells. *Ratio* is what its "
        "published ratio to the next column's stack is multiplied by, with the middle 80 % of the "
        "cells. *Spread* is half of what the middle 80 % of a cell's published blocks cover. "
        f"**Bold**: the ratio moved by more than that, and by more than {LEAST * 100:.0f} %. Loads "
        "from real time are compared with another clock, so their own times say nothing."
    )
    yield ""
    yield "| page | study | stack | against | cells | own | ratio | spread |"
    yield "|---" * 8 + "|"
    for row in compared_rows:
        real = ", from real time" if row.real_time else ""
        told = f"{row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})"
        if moves(row):
            told = f"**{told}**"
        yield (
            f"| [{row.table}]({row.table}.md){real} | {row.study} | {row.stack} | "
            f"{row.against or 'itself'} | {row.cells} | {row.own:.3f} | {told} | {row.spread:.3f} |"
        )
    tables = sorted({row.table for row in compared_rows if moves(row)})
    pages = ", ".join(f"[{table}]({table}.md)" for table in tables) or "none"
    yield ""
    yield (
        f"So these pages hold ratios that today's origin makes otherwise: {pages}. Two cells are "
        "few, so a ratio that did not move here may move elsewhere. What changed them: [errors in "
        "older pages](campaigns.md#errors-in-older-pages)."
    )


def moves(row: Moved) -> bool:
    return abs(row.ratio - 1) > max(row.spread, LEAST)


if __name__ == "__main__":
    main()
