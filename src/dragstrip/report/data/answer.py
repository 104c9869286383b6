"""States the answer in plain sentences, and says whether it can be trusted."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from dragstrip.model.effects import MtuBehaviour
from dragstrip.model.inequality import inequalities, of_uploads, sentences
from dragstrip.model.visit import Outcome
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.leaders import ENOUGH_BLOCKS, each, few_but_exact, lead
from dragstrip.report.words.modes import said_modes
from dragstrip.report.words.numbers import counted, interval, listed, percent
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.compare.summary import Comparison

CROWDED = 10
"""Number of packets dropped by the upstream queue. If the median visit has at least this many drops
while connections open, virtual and real time often disagree on which stack is faster
(bench/virtual/clocks.py)."""
AGREED = 64
"""Percentage of pairs of stacks with such a crowded queue for which both clocks name the same
faster stack."""
_UNENDED: Mapping[Outcome, str] = {
    "incomplete": "lost objects",
    "failed": "failed",
    "timeout": "timed out",
}
_ERRORS = 2
"""Number of a browser's errors that an answer names."""
Standing = Literal["shown", "not shown", "too few", "none"]


class CellAnswer(Struct, frozen=True):
    """The answer for a cell. `standing` says whether a difference was shown or not shown, or
    whether too few or no blocks count."""

    standing: Standing
    sentence: str
    """The answer in a sentence, which also names differences between the stacks besides the
    protocol."""
    believe: str
    """Sentences on the evidence for the answer, and its limits."""


def answer(cell: ReportCell, limit_s: float) -> CellAnswer:
    """Return the answer for a cell, about page load time. `limit_s` is the client's time limit, at
    which loads are censored."""
    shown = _answer(cell, limit_s)
    return structs.replace(shown, sentence=shown.sentence + _steps(cell) + _too_long(cell))


_MTU: Mapping[MtuBehaviour, str] = {
    "black-hole": "in silence",
    "too-big": "and told their senders",
    "clamp": "in silence, and clamped the MSS of TCP",
}


def _steps(cell: ReportCell) -> str:
    """Return a sentence on what happens to the link during a load, if anything does."""
    steps = "; ".join(step.describe() for step in cell.network.at)
    return f" The link changes during each load: {steps}." if steps else ""


def _how_unended(cell: ReportCell) -> str:
    """Say how loads ended that are censored, such as ``they lost objects (net::ERR_FAILED)``."""
    found = sum((r.unended for r in cell.results), Counter[tuple[Outcome, str]]())
    said = {}
    for outcome, words in _UNENDED.items():
        errors = Counter({error: n for (how, error), n in found.items() if how == outcome})
        if errors:
            named = listed([error for error, _ in errors.most_common(_ERRORS) if error])
            said[f"{words} ({named})" if named else words] = errors.total()
    if len(said) == 1:
        return f"{'it' if found.total() == 1 else 'they'} {next(iter(said))}"
    return listed([f"{count} {words}" for words, count in said.items()])


def _too_long(cell: ReportCell) -> str:
    """Return a sentence that the network's MTU dropped packets, if it did: such drops can make
    loads fail."""
    some = [r for r in cell.results if r.too_long]
    if not some:
        return ""
    every = (d for phase in cell.network.phases for d in (phase.down, phase.up))
    sides = [d for d in every if d.mtu]
    lengths = listed(list(dict.fromkeys(f"{d.mtu} B" for d in sides)))
    said = listed(list(dict.fromkeys(_MTU[d.mtu_behaviour] for d in sides)))
    dropped = listed([f"{r.stack.name} {r.too_long:g}" for r in some])
    failed = listed([f"{r.censored} over {r.stack.name}" for r in some if r.censored])
    ends = f" Of their loads {failed} did not end." if failed else " Their loads ended."
    return (
        f" The link dropped packets longer than its MTU of {lengths} {said} ({dropped} in the "
        f"median visit).{ends}"
    )


def _answer(cell: ReportCell, limit_s: float) -> CellAnswer:
    where = cell.title
    believe = _believe(cell, limit_s)
    if not cell.counted:
        return CellAnswer("none", f"No answer for {where}: {_why_none(cell)}.", believe)
    if all(r.censored == len(r.loads.values) for r in cell.results):
        tried = listed([f"{r.stack.name} {r.censored}" for r in cell.results])
        said = f"No answer for {where}: no load had all of the page within {limit_s:g} s ({tried})."
        return CellAnswer("none", said, believe)
    if len(cell.results) == 1:
        return CellAnswer("none", f"Only one stack was visited on {where}: no comparison.", believe)
    if few_but_exact(cell):
        shown, said = _block_by_block(cell)
        return CellAnswer("shown" if shown else "not shown", said, believe)
    shown, said = _verdict(cell)
    if cell.counted < ENOUGH_BLOCKS:
        few = f"{counted(cell.counted, 'block')} of at least {ENOUGH_BLOCKS}"
        return CellAnswer("too few", f"Too few blocks to say ({few}). So far: {said}", believe)
    return CellAnswer("shown" if shown else "not shown", said, believe)


def _verdict(cell: ReportCell) -> tuple[bool, str]:
    """Return whether any stack was shown to be slower than the fastest, and the sentence that says
    it."""
    best = lead(cell).leaders[0]
    # Each ratio is best / rival: below 1, the best stack is faster.
    found = (compare_stacks(cell.seen, r.stack.name, best, "plt_ms") for r in cell.results)
    rivals = sorted((c for c in found if c and c.a != best), key=lambda c: c.ratio)
    shown = [c for c in rivals if c.most is not None and c.most < 1]
    rest = [c for c in rivals if c not in shown]
    where = cell.title
    n = counted(cell.counted, "block")
    if not shown:
        names = listed([r.stack.name for r in cell.results])
        spans = listed([_span(c) for c in rest])
        said = (
            f"On {where} no difference between {names} could be shown: "
            f"{best}'s page load time is {spans} ({n})."
        )
        return False, said + _also(cell, best)
    parts = listed([f"{_lead(c)} ({_interval(c)})" for c in shown])
    said = f"{best} loads {where} {parts}; 95 % intervals, {n}."
    if rest:
        spans = listed([_span(c) for c in rest])
        said += f" Against {listed([c.a for c in rest])} no difference could be shown: {spans}."
    return True, said + _also(cell, best)


def _block_by_block(cell: ReportCell) -> tuple[bool, str]:
    """Judge a cell as `_verdict` does, for repeatable loads in too few blocks for intervals."""
    found = lead(cell)
    best = found.leaders[0]
    ratios = {r.stack.name: each(cell, best, r.stack.name) for r in cell.results}
    ahead = [name for name in ratios if name not in found.leaders]
    level = [name for name in found.leaders if name != best]
    blocks = f"in {'its one block' if cell.counted == 1 else f'each of {cell.counted} blocks'}"
    where = cell.title
    if not ahead:
        said = f"On {where} no stack is faster than {listed(level)} {blocks}."
        return False, said + _also(cell, best)
    parts = listed([_ahead(name, ratios[name]) for name in ahead])
    said = f"{best} loads {where} {parts}, {blocks}. The same seed gives the same load."
    if level:
        said += f" It is not faster than {listed(level)} {blocks}."
    return True, said + _also(cell, best)


def _ahead(name: str, ratios: list[float]) -> str:
    """Say the lead: ``6.0 % faster than h2``, or that loads of the other stack failed."""
    ended = [ratio for ratio in ratios if ratio]
    if len(ended) == len(ratios):
        return f"{_range(ratios)} faster than {name}"
    if not ended:
        return f"where no load over {name} ended"
    failed = f"{len(ratios) - len(ended)} of {len(ratios)} loads over {name} did not end"
    return f"{_range(ended)} faster than {name} ({failed})"


def _range(ratios: list[float]) -> str:
    """Write the smallest and the largest lead as a percentage: ``6.0 %``, or ``5.8 to 6.1 %`` if
    blocks differ."""
    least, most = 1 - max(ratios), 1 - min(ratios)
    both = percent(least), percent(most)
    return both[0] if both[0] == both[1] else f"{both[0].removesuffix(' %')} to {both[1]}"


def _also(cell: ReportCell, best: str) -> str:
    """Return a sentence on differences of the best stack from the others, besides the protocol."""
    stacks = {r.stack.name: r.stack for r in cell.results}
    said = sentences(stacks[best], list(stacks.values()))
    tuned = any(
        i.field != "connections" for s in stacks.values() for i in inequalities(s, stacks[best])
    )
    if tuned:
        said.append("`dragstrip why` says how much each contributes.")
    if cell.page.upload_bytes:
        said += of_uploads(list(stacks.values()))
    return "".join(f" {one}" for one in said)


def _lead(c: Comparison) -> str:
    if c.ratio == 0:
        return f"where most loads over {c.a} fail"
    return f"{percent(1 - c.ratio)} faster than {c.a}"


def _interval(c: Comparison) -> str:
    if c.least is None or c.most is None:
        return "no interval"
    with_invalid = ", invalid visits allowed for" if c.bound else ""
    return f"{(1 - c.most) * 100:.1f} to {percent(1 - c.least)}{with_invalid}"


def _span(c: Comparison) -> str:
    if c.least is None or c.most is None:
        side = "below" if c.ratio < 1 else "above"
        return f"{percent(abs(1 - c.ratio))} {side} (no interval) {c.a}'s"
    if c.bound and (c.least, c.most) == (0, math.inf):
        lost = f"{c.bound.missing} of {c.bound.attempts} attempts are invalid"
        return f"unknown against {c.a}'s ({lost})"
    return f"between {_offset(c.least)} and {_offset(c.most)} {c.a}'s"


def _offset(ratio: float) -> str:
    if ratio in (0, math.inf):
        return "any time below" if ratio == 0 else "any time above"
    return f"{percent(abs(1 - ratio))} {'below' if ratio < 1 else 'above'}"


def _why_none(cell: ReportCell) -> str:
    if not cell.seen.begun:
        return "no visits were made"
    invalid = cell.seen.spoiled
    if not invalid:
        return f"none of {counted(cell.seen.begun, 'block')} is complete yet"
    return (
        f"none of {counted(cell.seen.begun, 'block')} counts; "
        f"{'every one' if invalid == cell.seen.begun else invalid} ended with an invalid visit"
    )


def _at_once(cell: ReportCell) -> str:
    """Return a warning if a page's simultaneous connections crowd the upstream queue in virtual
    time; empty otherwise."""
    full = [r for r in cell.results if r.dropped_up >= CROWDED]
    if cell.clock.kind != "network" or not full:
        return ""
    dropped = listed([f"{r.stack.name} {r.dropped_up:g}" for r in full])
    return (
        "Where computing takes no time a page's connections begin at once, and meanwhile the queue "
        f"up dropped packets ({dropped} in the median visit). Where it drops {CROWDED} or more, "
        f"real time names the same faster stack in only {AGREED} % of pairs: race this without "
        "--no-computing, or in real time, too."
    )


def _sockets(cell: ReportCell) -> str:
    """Return a sentence on the stacks that opened the page's WebSockets over HTTP/1.1 beside their
    own protocol; empty if none did."""
    some = [r for r in cell.results if r.sockets]
    beside = [r.stack.name for r in some if r.sockets_beside]
    if not beside:
        return ""
    opened = counted(round(max(r.sockets for r in some)), "WebSocket")
    return f"The page opens {opened}, over HTTP/1.1 beside {listed(beside)}."


def _believe(cell: ReportCell, limit_s: float) -> str:
    if not cell.seen.begun:
        return "There is no result yet."
    sentences = []
    if cell.counted:
        visits = counted(cell.counted * len(cell.results), "visit")
        sentences.append(f"It rests on {visits} that passed every check of the testbed.")
    lost = cell.seen.begun - cell.counted
    if lost and cell.counted:
        sentences.append(
            f"{lost} of {counted(cell.seen.begun, 'block')} "
            f"{'does' if lost == 1 else 'do'} not count (an invalid or missing visit)."
        )
    if invalid := sum(r.invalid for r in cell.results):
        made = sum(r.visits for r in cell.results)
        shares = ", ".join(f"{r.stack.name} {r.invalid} of {r.visits}" for r in cell.results)
        codes = sum((r.reasons for r in cell.results), Counter[str]())
        why = ", ".join(f"{code} {count}" for code, count in codes.most_common())
        sentences.append(f"{invalid} of {made} visits were invalid ({shares}; {why}).")
    if said := _sockets(cell):
        sentences.append(said)
    if said := _at_once(cell):
        sentences.append(said)
    if said := said_modes(cell):
        sentences.append(said)
    sentences += [
        f"Over {counted(one.units, one.level)}, {c.b} / {c.a} is "
        f"{interval(one.ratio, one.low, one.high)}: {percent(one.between)} from {one.level} to "
        f"{one.level} (p {one.p:.2g}), {percent(one.within)} from block to block."
        for r in cell.results
        if (c := r.against_first.get("plt_ms")) and c.between
        for one in c.between
    ]
    if censored := sum(r.censored for r in cell.results):
        stacks = listed([f"{r.stack.name} {r.censored}" for r in cell.results if r.censored])
        sentences.append(
            f"{counted(censored, 'load')} did not complete ({stacks}): {_how_unended(cell)}. "
            f"{'It counts' if censored == 1 else 'They count'} as slower than every load that "
            f"ended, however long; medians show the limit of {limit_s:g} s."
        )
    return " ".join(sentences)
