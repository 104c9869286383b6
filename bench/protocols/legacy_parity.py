"""Server or protocol? The servers of old protocols in one old browser each, over a common one.

    uv run python bench/protocols/legacy_parity.py [--blocks 15] [--out docs/reference] [--redraw]

Chromium 53 speaks HTTP/2 with our origin, node-spdy and Netty. It speaks HTTP/1.1 with the latter
two only, because our origin always offers HTTP/2 and this browser cannot refuse it. Chromium 70
speaks HTTP/2 with our origin and with gquic-origin. No other server has gQUIC, so this compares
everything but the transport. A load over gQUIC shows that it fills the line.

Stacks over TCP have Reno here. CUBIC leaves slow start by the rhythm of the ACKs (HyStart). A few
more packets in a server's first flight may change the load time by a third in one visit, and not in
the next.

There are two loads. One object over a connection that has carried its document is timed from
request to last byte, on 25/5 Mbit/s with 24 ms. A page of 51 objects and 590 KB is timed to its
load event, on LTE. Nothing is rerun. Both browsers make both loads from our origin, so the result
also shows how the browsers differ.

Writes legacy-parity.md and .json; `--redraw` makes the page from the JSON. In the default folder it
also writes the gaps of the page's load times, which reports print beside figures
(`dragstrip.study.gaps`). 15 blocks take about 7 minutes.
"""

import argparse
import platform
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from dragstrip.browsers.registry import browser_version
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.stats.block_ratio import matched
from dragstrip.stats.block_ratio import ratio as block_ratio
from dragstrip.study import gaps
from dragstrip.study.gaps import Gap
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.visit.metrics import object_times

STACKS = (
    "h2-chromium53-origin",
    "h2-chromium53",
    "h2-chromium53-netty",
    "h1-chromium53",
    "h1-chromium53-netty",
    "TCP-chromium70",
    "TCP-chromium70-go",
    "gQUIC",
)
FAST = structs.replace(Network.parse("25mbit/5mbit/12ms/0%/200ms"), name="25/5 Mbit/s, 24 ms")
SAME_ORIGIN = ("h2-chromium53-origin", "TCP-chromium70")
OBJECTS = ("1x10KB", "1x100KB", "1x1MB")
PAGE = "50x11.8KB"
PAGES = tuple(f"synth-{spec}" for spec in (*OBJECTS, PAGE))
PUBLISHED = Path("docs/reference")
PAGE_IN_WORDS = "page of 51 objects, 590 KB, over LTE"


class Load(Struct, frozen=True, kw_only=True):
    """A visit."""

    page: str
    stack: str
    block: str
    verdict: str
    ms: float | None


class Row(Struct, frozen=True, kw_only=True):
    """A server's valid visits, and each ratio of medians to a server above it."""

    browser: str
    protocol: Protocol
    load: str
    server: str
    n: int
    invalid: int
    median_ms: float | None
    gaps: tuple[Gap, ...]


class Measured(Struct, frozen=True, kw_only=True):
    blocks: int
    linux: str
    measured: str
    rows: tuple[Row, ...]
    loads: tuple[Load, ...]


def main() -> None:
    asked = arguments()
    kept = asked.out / "legacy-parity.json"
    if asked.redraw:
        found = msgspec.json.decode(kept.read_bytes(), type=Measured)
    else:
        found = measure(asked.blocks)
        asked.out.mkdir(parents=True, exist_ok=True)
        write(kept, found)
        if asked.out == PUBLISHED:
            of_page = [gap for row in found.rows if row.load == PAGE_IN_WORDS for gap in row.gaps]
            write(Path(gaps.__file__).with_name(gaps.FILE), of_page)
    text = table(found)
    (asked.out / "legacy-parity.md").write_text(text)
    print(text)


def measure(blocks: int) -> Measured:
    names = [n for n in STACKS if "netty" not in n or catalogue()["netty-origin"].installed]
    stacks = [with_reno(find_stack(name)) for name in names]
    loads = (
        *visit_all(OBJECTS, FAST, stacks, blocks),
        *visit_all((PAGE,), find_network("LTE"), stacks, blocks),
    )
    return Measured(
        blocks=blocks,
        linux=platform.release(),
        measured=date.today().isoformat(),
        rows=tuple(compared(loads, stacks)),
        loads=loads,
    )


def with_reno(stack: Stack) -> Stack:
    """Return the stack with Reno over TCP. gQUIC's server has only its own CUBIC."""
    return structs.replace(stack, congestion="reno") if stack.transport == "tcp" else stack


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--out", type=Path, default=PUBLISHED)
    parser.add_argument("--redraw", action="store_true")
    return parser.parse_args()


def visit_all(
    specs: Sequence[str], network: Network, stacks: Sequence[Stack], blocks: int
) -> list[Load]:
    loads: list[Load] = []
    with tempfile.TemporaryDirectory() as cache:
        study = StudySpec(
            name="legacy parity",
            pages=[f"synth:{spec}" for spec in specs],
            networks=[network],
            stacks=stacks,
            runs=blocks,
            seed=1,
            client=Client(),
        ).resolve(Path(cache))
        run_here(
            Schedule(structs.replace(study, reruns=0), []),
            lambda visit, _: loads.append(brief(visit)),
        )
    return loads


def compared(loads: Sequence[Load], stacks: Sequence[Stack]) -> Iterator[Row]:
    for page in PAGES:
        for browser, protocol in dict.fromkeys((s.browser, s.protocol) for s in stacks):
            above: dict[str, Times] = {}
            for stack in (s for s in stacks if (s.browser, s.protocol) == (browser, protocol)):
                took = times(loads, page, stack.name)
                made = sum((v.page, v.stack) == (page, stack.name) for v in loads)
                load = in_words(page)
                yield Row(
                    browser=browser,
                    protocol=protocol,
                    load=load,
                    server=stack.server,
                    n=len(took),
                    invalid=made - len(took),
                    median_ms=statistics.median(took.values()) if took else None,
                    gaps=tuple(
                        gap
                        for other, theirs in above.items()
                        if (gap := between(stack, load, took, other, theirs))
                    ),
                )
                above[stack.server] = took


Times = dict[str, float]
"""Times by block."""


def between(stack: Stack, load: str, mine: Times, against: str, theirs: Times) -> Gap | None:
    """The gap in the blocks in which both visits are valid; None if there is none."""
    pairs = matched(theirs, mine)
    if not pairs[0]:
        return None
    ratio = block_ratio(*pairs)
    return Gap(
        server=stack.server,
        against=against,
        browser=stack.browser,
        protocol=stack.protocol,
        load=load,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        blocks=ratio.n,
        measured=date.today().isoformat(),
    )


def times(loads: Sequence[Load], page: str, stack: str) -> Times:
    """Times of valid loads."""
    return {
        v.block: v.ms
        for v in loads
        if (v.page, v.stack, v.verdict) == (page, stack, "valid") and v.ms is not None
    }


def measured(visit: Visit) -> float | None:
    """Time of the one object beside the document, or of the whole page."""
    if visit.page.endswith(PAGE):
        return visit.plt_ms
    return next((o.sent_ms for o in object_times(visit) if o.url.endswith(".png")), None)


def in_words(page: str) -> str:
    return PAGE_IN_WORDS if page.endswith(PAGE) else f"{page.removeprefix('synth-1x')} object"


def table(found: Measured) -> str:
    """Markdown."""
    browsers = dict.fromkeys(row.browser for row in found.rows)
    left_out = [name for name in STACKS if name not in {v.stack for v in found.loads}]
    lines = [
        "# Parity of the servers of old protocols",
        "",
        f"`uv run python bench/protocols/legacy_parity.py --blocks {found.blocks}`: Linux "
        f"{found.linux}, {found.measured}. Medians of valid visits",
        f"in {' and '.join(browser_version(b) for b in browsers)}; ratios of medians with 95 % "
        "intervals over",
        f"blocks (from six on). Stacks over TCP have Reno. Objects on {FAST.name}, from request to",
        "last byte.",
        "",
        *(
            [f"Left out, for they are not installed: {', '.join(left_out)}.", ""]
            if left_out
            else []
        ),
        "| browser | protocol | load | server | ms | n (invalid) | divided by | ratio |",
        "|---" * 8 + "|",
    ]
    for row in found.rows:
        ms = "-" if row.median_ms is None else f"{row.median_ms:.1f}"
        head = f"| {row.browser} | {row.protocol} | {row.load} | {row.server} | {ms}"
        head += f" | {row.n} ({row.invalid})"
        lines += [f"{head} | {gap.against} | {gap.figures()} |" for gap in row.gaps] or [
            f"{head} |  |  |"
        ]
    lines += [
        "",
        "Chromium 70 divided by Chromium 53, both over HTTP/2 from our origin:",
        "",
        "| load | ratio | blocks |",
        "|---" * 3 + "|",
        *between_browsers(found.loads),
    ]
    return "\n".join([*lines, ""])


def between_browsers(loads: Sequence[Load]) -> Iterator[str]:
    """Lines of a table: one server, one protocol, two browsers."""
    older, newer = SAME_ORIGIN
    for page in PAGES:
        pairs = matched(times(loads, page, older), times(loads, page, newer))
        if pairs[0]:
            found = block_ratio(*pairs)
            figures = gaps.figures(found.value, found.low, found.high)
            yield f"| {in_words(page)} | {figures} | {found.n} |"


def brief(visit: Visit) -> Load:
    return Load(
        page=visit.page,
        stack=visit.stack,
        block=visit.block,
        verdict=visit.verdict,
        ms=measured(visit),
    )


def write(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


if __name__ == "__main__":
    main()
