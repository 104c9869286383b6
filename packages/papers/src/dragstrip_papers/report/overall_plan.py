"""Writes docs/results/plan.md: what to run next, in the order of answers per hour."""

from collections.abc import Iterator, Mapping, Sequence

from dragstrip_papers.campaign.pace import Pace
from dragstrip_papers.overall.given import Way
from dragstrip_papers.overall.plan import Step
from dragstrip_papers.overall.rows import Row

WAYS: Mapping[Way, str] = {
    "native": "its own protocols",
    "browser": "browser, real time",
    "virtual": "browser, virtual time",
    "loader": "load generator, virtual time",
}
INTRO = """\
Made by `uv run python packages/papers/bench/papers.py` from the claims, the answers so far, and
[how often each claim is answered](../reference/claims-power.md) in made-up worlds.

A claim's chance of an answer is the mean of its chances in worlds where it is true and in worlds
where it is false, at the campaign's number of blocks. **Answers** is the sum of the chances that a
step adds to those above it. Each step is the one with the most answers per hour at that point.

Where a claim is answered: over its own protocols or in a browser in real time if it is about
implementations of its time, about what is drawn, or about loads that only computing delays; by the
browser in virtual time if the network makes the difference; by the load generator if it is about
more than 100 cells. Claims that can be answered in several ways take the first that a step
offers."""
SAMPLE = """\
## The same cells in all three

24 cells of [sample.toml](sample.toml): six pages of the papers over wolsing2019's four networks.
Their agreement is published beside the answers. Where they differ, the browser in real time counts.

    dragstrip run docs/results/sample.toml --jobs auto --out capsules/sample
    dragstrip run docs/results/sample.toml --virtual --out capsules/sample-virtual
    dragstrip run docs/results/sample.toml --virtual --client loader --out capsules/sample-loader
    dragstrip compare capsules/sample capsules/sample-virtual --across-clocks
    dragstrip compare capsules/sample-virtual capsules/sample-loader --across-clients"""


def page(rows: Sequence[Row], steps: Sequence[Step], pace: Pace, rules: Mapping[str, str]) -> str:
    """Return the whole page; `rules` are the versions that a campaign records when it starts."""
    lines = ["# What to run next", "", INTRO, "", *_cost(pace), "", *_steps(steps), ""]
    lines += ["## Rules", "", *_rules(rules), "", SAMPLE, ""]
    lines += ["## Every open claim", "", *_open(rows, steps), ""]
    lines += ["## The commands, in this order", "", *_commands(steps)]
    return "\n".join([*lines, ""])


def _cost(pace: Pace) -> Iterator[str]:
    yield (
        f"Hours are of a machine with {pace.cores} free cores. A visit of a browser in virtual "
        f"time is assumed to cost {pace.visit_cpu_s} CPU seconds, {pace.object_cpu_s} for each "
        f"object and {pace.mb_cpu_s} for each megabyte, whatever the load lasts. A megabyte over "
        f"{pace.slow_mbps:g} Mbit/s or less costs {pace.slow_mb_cpu_s} more, because its packets "
        "come one by one, and on faster lines in proportion less. A repeat visit moves its page "
        f"twice. In real time {pace.real_at_once} blocks run at once. The load generator costs "
        f"{pace.loader_share} of that browser, as measured on biswal2016's grid."
    )


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    heads = ("", "campaign", "how", "cells x blocks", "visits", "hours", "sum", "answers")
    yield f"| {' | '.join((*heads, 'an hour', 'claims'))} |"
    yield "|---" * (len(heads) + 2) + "|"
    total = 0.0
    for number, step in enumerate(steps, start=1):
        total += step.hours
        made = step.campaign
        claims = " ".join(claim.rsplit("-", 1)[1] for claim in step.claims)
        cells = (
            str(number),
            f"{made.name}: {made.says}",
            WAYS[made.way],
            f"{step.cells} x {made.blocks}",
            str(step.visits),
            *(f"{value:.1f}" for value in (step.hours, total, step.answers)),
            f"{step.answers / step.hours:.1f}",
            claims or "no new ones",
        )
        yield f"| {' | '.join(cells)} |"


def _rules(rules: Mapping[str, str]) -> Iterator[str]:
    yield (
        "Rules have a version for each paper: that of its claims, of the predicates, and of the "
        "verdict. A campaign keeps it with its first visit, and its page of claims says whether it "
        "is the one that answers. Today:"
    )
    yield ""
    yield from (f"- {paper}: `{version}`" for paper, version in rules.items())


def _open(rows: Sequence[Row], steps: Sequence[Step]) -> Iterator[str]:
    yield (
        "The cheapest first. The price is that of this claim alone, with its own stacks and no "
        "controls: claims about the same cells share it."
    )
    yield ""
    yield "| claim | needs | price | steps | why it is open |"
    yield "|---|---|---|---|---|"
    for row in sorted((row for row in rows if row.answer == "open"), key=_price):
        own = [str(n) for n, step in enumerate(steps, start=1) if row.id in step.claims]
        told = ", ".join(own) or (f"as {row.restates}" if row.restates else "none")
        wants = row.more or row.needs
        needs = wants.words() if wants else ""
        why = row.why.replace("|", "\\|")
        yield f"| {row.id} | {needs} | {_words_of_price(row)} | {told} | {why} |"


def _price(row: Row) -> tuple[bool, float]:
    """Return a key that sorts the cheapest first. Claims that more loads of the same cells would
    leave open come last."""
    hopeless = bool(row.more and row.more.of is None)
    return hopeless, row.needs.least_hours if row.needs else 0.0


def _words_of_price(row: Row) -> str:
    if row.needs is None:
        return ""
    if row.more and row.more.of != "blocks":
        return f"{row.needs.price()}, on other pages or by another clock"
    return row.needs.price(row.more.need if row.more else 0)


def _commands(steps: Sequence[Step]) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        yield f"    # {number}: {step.hours:.1f} h, {step.answers:.1f} answers"
        yield from (f"    {command}" for command in step.campaign.commands())
