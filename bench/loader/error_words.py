"""The text of docs/reference/loader.md."""

from collections.abc import Iterator
from typing import Any

from dragstrip.report.words.numbers import DASH
from dragstrip_papers.stats.prediction import NEAR, SAME, Errors, Ratios

LANTERN_RANK, LANTERN_OFF = "0.81 to 0.87", "23 to 42 %"


def page_text(found: Any, graphs: list[str]) -> str:
    """Return the page. `found` holds the cells that bench/loader/error.py finds."""
    return "\n".join([*_page(found, graphs), ""])


def graphs_text(browser: str, graphs: list[str]) -> str:
    """The page's text while there are no loads by the load generator."""
    return "\n".join(
        [_UNMEASURED.format(browser=browser), GRAPHS, *graphs, "", _GRAPH_COMMANDS, ""]
    )


def _page(found: Any, graphs: list[str]) -> Iterator[str]:
    yield _OPENING.format(pages=found.pages, browser=found.browser)
    kinds: dict[str, Errors] = found.by_kind
    yield f"| | {' | '.join(kinds)} | goal | Lantern |"
    yield "|---" * (len(kinds) + 3) + "|"
    for what, tell, goal, lantern in (
        ("rank correlation (Spearman)", _rank, "at least 0.97", LANTERN_RANK),
        ("mean absolute error", lambda e: _pct(e.mean_absolute), "at most 8 %", LANTERN_OFF),
        ("median absolute error", lambda e: _pct(e.median_absolute), "", ""),
        ("largest error", lambda e: _pct(e.largest), "", ""),
        ("bias", lambda e: _signed(e.bias), "", ""),
        ("cells", lambda e: str(e.cells), "", "300 URLs"),
    ):
        yield f"| {what} | {' | '.join(tell(e) for e in kinds.values())} | {goal} | {lantern} |"
    yield ""
    if len(kinds) > 1:
        yield _KINDS
    yield _SO_FAR.format(blocks=_blocks(found))
    yield _CELLS
    yield from _table("where", {"learned on": found.taught, "others": found.held_out})
    yield _OVERFLOW
    yield from _table("what was full", found.by_overflow)
    if found.luck_by_overflow:
        yield _LUCK
        for name, luck in found.luck_by_overflow.items():
            yield f"| {name} | {_pct(found.by_overflow[name].mean_absolute)} | {_pct(luck)} |"
        for name, luck in found.luck_by_network.items():
            yield f"| {name} | {_pct(found.by_network[name].mean_absolute)} | {_pct(luck)} |"
        yield ""
    if found.structure:
        yield _STRUCTURE
        yield from _table("graph", {"learned": found.whole, "from structure": found.structure})
    yield GRAPHS
    yield from graphs
    yield ""
    yield _TIMERS
    yield _RATIOS.format(same=f"{SAME:.0%}", near=f"{NEAR:.0%}")
    for name, pair in found.pairs.items():
        if pair.cells:
            yield _ratio(name, pair)
    yield ""
    if any(pair.cells for pair in found.unlost.values()):
        yield _UNLOST
        for name, pair in found.unlost.items():
            if pair.cells:
                yield _ratio(name, pair)
        yield ""
    if found.itself:
        yield _ITSELF
        for name, pair in found.itself.items():
            yield _ratio(name, pair)
        yield ""
    for title, groups in (
        ("kind of page", found.by_kind),
        ("network", found.by_network),
        ("stack", found.by_stack),
        ("page", found.by_page),
    ):
        yield f"## By {title}"
        yield ""
        yield from _table(title, groups)
    if found.computing:
        yield _COMPUTING
        yield from _table("network", found.computing)
    if found.invalid:
        yield f"{found.invalid} cells are left out: one of the clients had no valid load there."
        yield ""
    yield _COMMANDS


_OPENING = """# The load generator beside Chromium

The [load generator](../howto/load-generator.md) predicts Chromium's page load time. This is how far
it is off, on {pages} pages over emulated networks. Both clients load the same pages from the same
server over the same link with the same losses, in virtual time in which computing takes none.
Browser: {browser}.

![Page load times of both clients](loader.svg)
"""
_UNMEASURED = """# The load generator beside Chromium

The [load generator](../howto/load-generator.md) predicts Chromium's page load time. How far it is
off as a whole is not measured yet. What is measured is the graph that it follows. Virtual time, in
which computing takes none. Browser: {browser}.
"""
_GRAPH_COMMANDS = """Graphs were learned from loads over h1, h2 and h3. The command:

    uv run python bench/loader/page_graph.py LESSONS VISITS"""
_SO_FAR = """Blocks per cell: {blocks}.
A cell's time is the median of its blocks. Read the figures as those of these pages."""
_KINDS = """Recordings are of sites, and the demo page is among them. HARs are of nine sites with up
to 95 hosts: they hold addresses, sizes and initiators, but no bodies. Stand-ins are made-up pages
of the sizes of wolsing2019's 38 sites. Their hosts, up to 59, are named early in the document, so
connections begin together and fill the queues. There the load generator loses other packets than
Chromium does, and a lost handshake costs each of them 0.3 to 4 s. Both give it up after that, and
end without that host's objects. Such loads are left out. Do not trust a prediction where a queue is
full. Over QUIC it is less sure where a queue holds fewer than four packets
([the factor map](../results/map.md#chromium-on-the-same-cells)).

All cells are of 26 and 27 November 2026, by an origin that [lets no answer wait behind a connection
id](../decisions/0045-no-spare-connection-ids.md) and a load generator that [loses handshakes as
Chromium does](../decisions/0044-lost-handshakes.md). The cells of the stand-ins, and of baidu,
demo, google, googleuk, reddit and wikipedia, are by one that sent half of a ClientHello again when
the server had it already. When the other pages were made again without that, stacks over QUIC
changed by 2.5 % on DSL in the mean of 30 cells, and by 0.1 % on LTE. On DA2GC and MSS, which lose
packets, stacks over TCP changed as much as those over QUIC.
"""
_CELLS = """
A cell is a page over a network with a stack. Lantern is the predictor in Lighthouse; its figures
are from its own documentation. They are not like for like: Lantern predicts loads of live pages on
a throttled phone, this predicts loads without computing.

Graphs were learned from six loads of each page (h1, h2 and h3 over LTE and DSL) with another seed.
Cells that graphs were learned on, and others:
"""
_OVERFLOW = """## Where a queue is full, one packet decides

DSL's queue of 12 ms holds four ClientHellos on the way up. When a page opens more connections at
once, the next are dropped, and which ones depends on single bytes. A load generator that sends the
same requests at the same times loses others, and each costs a timeout of up to a second. So here
are the cells by what was full in Chromium's loads:
"""
_TIMERS = """## Where a timer decides

A script of google.co.uk asks for another 200 ms after the document. The load event waits for that
one only if the timer fires before all else is there, in Chromium and here. Over DSL the fast stacks
bring all else just before. When a lost packet holds it up by a few milliseconds, the load takes
twice as long, in Chromium too. Such a cell can be off by a factor of two.

## What a graph does not know

Which of two causes a request had, where both came at the same time in every load it was learned
from. And what a page asks for only on networks unlike those: a graph has the same requests always.
"""
_LUCK = """Part of that error is luck, which no load generator can predict. The table has the load
generator's mean error, and how far a block of Chromium's is from the median of its cell's other
blocks, on average:

| cells | load generator | one block of Chromium's |
|---|---|---|"""
_UNLOST = """The same, of cells in which neither queue was full for either stack:

| ratio | cells | near | decided | same side |
|---|---|---|---|---|"""
_STRUCTURE = """## Without having seen a visit

By the graph that the recording's structure gives, with nothing learned:
"""
GRAPHS = """## The graph alone

Part of the error is the graph's, part is that of the protocols. Here the graph is held against
Chromium's own loads with another seed, stacks it was not learned from among them: when does a
request start, and when does the load event end, given when the answers it waits for were there?
Requests that wait for a part of an answer are left out: no browser says when that part came. So are
those that differ from others only in a query that changes with each load.
"""
_RATIOS = """## Does it decide as Chromium does?

Ratios of page load times of two stacks on the same page and network. A cell is decided if
Chromium's ratio is more than {same} from 1. Near means within {near}. Goals: near in 80 % of cells,
the same side of 1 in 95 % of those that are decided.

| ratio | cells | near | decided | same side |
|---|---|---|---|---|"""
_ITSELF = """Luck plays a part here, too. The next table takes the recordings and HARs with three
blocks, and judges one block of Chromium's by the medians of the other two. Do not expect a
predictor to agree much more often:

| ratio | blocks | near | decided | same side |
|---|---|---|---|---|"""
_COMPUTING = """## Where computing takes time

With `--computing` [each system call takes time](virtual-computing.md), in both clients. The load
generator makes fewer calls, but its graph has the browser's computing in it. The demo page and
seven recordings, one block a cell:
"""
_COMMANDS = """All cells: [loader.json](loader.json). The commands:

    uv run python bench/loader/error.py make FOLDER PAGE... --networks LTE DSL --runs 3
    uv run python bench/loader/error.py make SLOW PAGE... --networks DA2GC MSS --runs 3
    uv run python bench/loader/error.py make STANDINS \\
        --browser capsules/wolsing2019-virtual/wolsing2019
    uv run python bench/loader/error.py make COMPUTING PAGE... --computing --runs 1
    uv run python bench/loader/error.py write FOLDER SLOW STANDINS COMPUTING"""


def _blocks(found: Any) -> str:
    """The fewest blocks that a cell of each network has."""
    fewest: dict[str, int] = {}
    for cell in found.cells:
        fewest[cell.network] = min(cell.runs, fewest.get(cell.network, cell.runs))
    return ", ".join(f"{runs} over {network}" for network, runs in fewest.items())


def _table(title: str, groups: dict[str, Errors | None]) -> Iterator[str]:
    yield f"| {title} | cells | mean absolute error | median | largest | bias | rank |"
    yield "|---|---|---|---|---|---|---|"
    for name, e in groups.items():
        if e:
            yield (
                f"| {name} | {e.cells} | {_pct(e.mean_absolute)} | {_pct(e.median_absolute)} | "
                f"{_pct(e.largest)} | {_signed(e.bias)} | {_rank(e)} |"
            )
    yield ""


def _ratio(name: str, pair: Ratios) -> str:
    return (
        f"| {name} | {pair.cells} | {_pct(pair.near)} | {pair.decided} | {_pct(pair.same_sign)} |"
    )


def _rank(found: Errors) -> str:
    return DASH if found.rank is None else f"{found.rank:.3f}"


def _pct(share: float) -> str:
    return f"{share * 100:.1f} %"


def _signed(share: float) -> str:
    return f"{share * 100:+.1f} %"
