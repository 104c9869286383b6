"""Firefox beside Chromium: docs/reference/firefox.md.

    uv run python bench/visits/firefox.py CAPSULE docs/reference/firefox.md

The capsule holds races of the same stacks in both. Writes for each page and stack the median page
load time and its coefficient of variation over blocks, and how many visits were valid.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, stdev

from dragstrip.model.browsers import FIREFOX
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.report.words.numbers import DASH
from dragstrip.results.capsule import Capsule
from dragstrip_papers.provenance import command


def main() -> None:
    folder, target = map(Path, sys.argv[1:])
    target.write_text("\n".join([*page(Capsule.open(folder)), ""]))


def page(capsule: Capsule) -> Iterator[str]:
    study = capsule.manifest.study
    visits = list(capsule.visits())
    pairs = list(paired(study.stacks))
    yield "# Firefox beside Chromium"
    yield ""
    yield "Page load time in ms, median over blocks, and its coefficient of variation (standard"
    yield "deviation over mean) in percent. Every pair of columns is one stack in two browsers."
    yield ""
    yield "The browsers differ in more than their sockets: how they parse, lay out and schedule."
    yield "Compare the ratios within each browser, not the columns of one with those of the other."
    yield ""
    for network in study.networks:
        yield f"Over {network.name}: {network.describe()}."
        yield ""
        heads = [f"{s.name} | Firefox" for pair in pairs for s in pair[:1]]
        yield f"| page | {' | '.join(heads)} |"
        yield "|---" * (1 + 2 * len(pairs)) + "|"
        for name in dict.fromkeys(v.page for v in visits):
            cells = [
                cell([v for v in visits if (v.page, v.network) == (name, network.name)], s)
                for pair in pairs
                for s in pair
            ]
            yield f"| {name} | {' | '.join(cells)} |"
        yield ""
    yield from counts(visits, study.stacks)
    start = capsule.manifest.starts[-1]
    yield ""
    yield f"{start.browser_version}; {start.machine.cpu}, {start.machine.cores} cores. The command:"
    yield ""
    yield f"    {command(start.command)}"
    yield "    uv run python bench/visits/firefox.py CAPSULE docs/reference/firefox.md"
    yield ""
    yield "What Firefox cannot report: [another browser](../howto/own-browser.md)."


def paired(stacks: tuple[Stack, ...]) -> Iterator[tuple[Stack, Stack]]:
    named = {s.name: s for s in stacks}
    for stack in stacks:
        other = named.get(f"{stack.name}-{FIREFOX}")
        if other:
            yield stack, other


def cell(visits: list[Visit], stack: Stack) -> str:
    times = [v.plt_ms for v in visits if v.stack == stack.name and v.valid and v.plt_ms]
    if len(times) < 2:
        return DASH
    return f"{median(times):.0f} ({stdev(times) / mean(times) * 100:.1f} %)"


def counts(visits: list[Visit], stacks: tuple[Stack, ...]) -> Iterator[str]:
    said = []
    for stack in stacks:
        mine = [v for v in visits if v.stack == stack.name]
        said.append(f"{stack.name} {sum(v.valid for v in mine)} of {len(mine)}")
    yield f"Valid visits: {', '.join(said)}. Reasons of the others:"
    yield ""
    reasons = sorted({r.code for v in visits for r in v.reasons})
    for code in reasons:
        n = sum(any(r.code == code for r in v.reasons) for v in visits)
        yield f"- `{code}`: {n}"


if __name__ == "__main__":
    main()
