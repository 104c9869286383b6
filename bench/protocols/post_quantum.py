"""What post-quantum keys and certificates cost a page.

    uv run python bench/protocols/post_quantum.py CAPSULE CAPSULE-LOADS [--write]

The capsules are those of docs/results/post-quantum.toml and post-quantum-loads.toml. `--write` puts
docs/results/post-quantum.md there.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import polars as pl

import dragstrip
from dragstrip.results.frames import Frames

PAGE = Path(__file__).parents[2] / "docs" / "results" / "post-quantum.md"
PLAIN = ("h1", "h2", "h2 iw32", "h3", "h3 iw32")
KINDS = ("kem", "44", "65")
"""Ends of the names of stacks with a post-quantum key share, and with certificates as well."""
FINDINGS = """
- **The key share costs a millisecond.** Chromium's large ClientHello is there already; the
  ServerHello grows by 1.1 kB. Only DA2GC (0.468 Mbit/s) needs 20 ms for that.
- **Over `h3` both chains cost a round trip**, with either window: RFC 9000's factor of three ends
  the first flight, not the window.
- **Over `h1` and `h2` ML-DSA-44 fits into ten packets.** Its bytes cost 4 to 50 ms. ML-DSA-65's 15
  kB do not fit, and cost a round trip. With a window of 32 packets they do.
- **DA2GC is slower than its bytes**: at 0.468 Mbit/s the flights fill its queue of 200 ms (11.7
  kB), and packets are dropped.
- **Repeat visits cost nothing more**: a resumed session shows no certificate.
""".strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("capsule", type=Path)
    parser.add_argument("loads", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    text = "\n".join(page(dragstrip.open(asked.capsule), dragstrip.open(asked.loads)))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")


def page(exact: Frames, whole: Frames) -> Iterator[str]:
    first, loads = exact.visits(), whole.visits()
    yield "# What post-quantum keys and certificates cost a page"
    yield ""
    yield "    dragstrip run docs/results/post-quantum.toml --out post-quantum"
    yield "    dragstrip run docs/results/post-quantum-loads.toml --out post-quantum-loads"
    yield "    uv run python bench/protocols/post_quantum.py post-quantum post-quantum-loads \\"
    yield "        --write"
    yield ""
    yield (
        f"{counted(first)} and {counted(loads)} of the bundled page `demo`, by the load generator "
        "in virtual time. Computing takes no time: signing and verifying cost nothing, and the "
        "numbers are the network's part. They are predictions of Chromium's loads; the load "
        "generator verifies real ML-DSA, which no browser does. `iw32`: an initial window of 32 "
        "packets instead of 10."
    )
    yield ""
    yield FINDINGS
    for mode, words in (("first", "First visits"), ("repeat", "Repeat visits")):
        yield ""
        yield f"## {words}: the first byte"
        yield ""
        yield (
            "Milliseconds with X25519 and ECDSA; and what is added by X25519MLKEM768, by it and "
            "ML-DSA-44, by it and ML-DSA-65."
        )
        yield ""
        yield from first_bytes(first.filter(pl.col("valid") & (pl.col("connection") == mode)))
    yield ""
    yield "## First visits: the page's load"
    yield ""
    yield (
        "Page load with X25519MLKEM768 and ML-DSA-65, divided by page load with X25519 and ECDSA "
        "in the same block: median, least and most. A/A is `h2` divided by its copy. What a queue "
        "drops changes with every byte, so single loads say little: compare a ratio with its A/A."
    )
    yield ""
    yield from ratios(loads.filter("valid"))


def counted(visits: pl.DataFrame) -> str:
    return f"{len(visits)} loads ({visits['valid'].sum()} valid)"


def first_bytes(mine: pl.DataFrame) -> Iterator[str]:
    networks = sorted(set(mine["network"].to_list()))
    yield f"| stack | {' | '.join(networks)} |"
    yield "|---" * (len(networks) + 1) + "|"
    for plain in PLAIN:
        cells = [added(mine.filter(network=network), plain) for network in networks]
        yield f"| `{plain}` | {' | '.join(cells)} |"


def added(mine: pl.DataFrame, plain: str) -> str:
    base = value(mine, plain)
    if base is None:
        return "-"
    more = (value(mine, f"{plain} {kind}") for kind in KINDS)
    return f"{base:.0f} (" + ", ".join("-" if m is None else f"{m - base:+.0f}" for m in more) + ")"


def value(mine: pl.DataFrame, stack: str) -> float | None:
    found: Sequence[float] = mine.filter(stack=stack)["ttfb_ms"].drop_nulls().to_list()
    return median(found) if found else None


def ratios(mine: pl.DataFrame) -> Iterator[str]:
    pairs = {"A/A": ("h2", "control-same")}
    pairs |= {f"`{plain}`": (plain, f"{plain} 65") for plain in PLAIN if plain != "h1"}
    yield f"| network | {' | '.join(pairs)} | blocks |"
    yield "|---" * (len(pairs) + 2) + "|"
    for network in sorted(set(mine["network"].to_list())):
        here = mine.filter(network=network)
        cells = [ratio(here, *pair) for pair in pairs.values()]
        yield f"| {network} | {' | '.join(cells)} | {here['block'].n_unique()} |"


def ratio(here: pl.DataFrame, a: str, b: str) -> str:
    of = [here.filter(stack=name).select("block", "plt_ms") for name in (a, b)]
    both = of[0].join(of[1], on="block", suffix="_b").drop_nulls()
    found = sorted((both["plt_ms_b"] / both["plt_ms"]).to_list())
    return f"{median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})" if found else "-"


if __name__ == "__main__":
    main()
