"""Which answers the rules changed, claim by claim, with the cause.

    uv run python packages/papers/bench/changed.py

Compares docs/results/papers.json with docs/results/answers-1.json, the answers by version 1 of the
rules (30 November 2026), and writes the first part of docs/results/changed-answers.md. The rest of
that page is about answers of 22 November and stays.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.report.words.numbers import DASH
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.predicted import NO_SHARE
from dragstrip_papers.claims import KEYS, Claim, published
from dragstrip_papers.overall.rows import Row
from dragstrip_papers.report.overall import short

RESULTS = Path(__file__).parents[3] / "docs" / "results"
PAGE = RESULTS / "changed-answers.md"
EARLIER = "## Answers of 22 November 2026"
CAUSES = {
    "page": "The pages are stand-ins, or the network stands for a live one. They show a direction "
    "and no size, for or against the claim.",
    "unit": "The claim is about these pages. Intervals count their loads, no longer other pages. "
    "No median vetoes a claim about means.",
    "rule": "The claim's own predicate changed, its direction is asked by itself, a recording "
    "comes before a stand-in, or its answer is derived.",
    "version 3": "Invalid visits reach claims about a cell's first loads, half of a stack's loads "
    "without an end leave a claim open, the load generator shows no size of a share, or a range "
    "asks for its least and its greatest.",
    "loads": "Loads that did not end no longer decide, computing is free in these loads, or other "
    "loads came first.",
}


class Before(Struct, frozen=True, kw_only=True):
    id: str
    answer: Verdict | str
    way: str | None
    page: str
    ours: str


def main() -> None:
    before = msgspec.json.decode((RESULTS / "answers-1.json").read_bytes(), type=list[Before])
    now = msgspec.json.decode((RESULTS / "papers.json").read_bytes(), type=list[Row])
    claims = {claim.id: claim for key in KEYS for claim in published(key).claims}
    _, _, earlier = PAGE.read_text().partition(EARLIER)
    text = "\n".join(lines({one.id: one for one in before}, now, claims))
    PAGE.write_text(f"{text}\n\n{EARLIER}{earlier}")


def lines(before: dict[str, Before], now: list[Row], claims: dict[str, Claim]) -> Iterator[str]:
    moved = [row for row in now if row.answer != before[row.id].answer]
    causes = {row.id: cause(before[row.id], row, claims[row.id]) for row in moved}
    yield "# Answers that rules changed"
    yield ""
    yield (
        "Version 2 of the rules decides [direction and size apart]"
        "(../decisions/0083-direction-and-size-apart.md), and version 3 follows [a review of "
        "twenty claims](../decisions/0126-patience-and-rules-3.md). They answered every claim "
        "again: from the loads where they are kept, else from the printed numbers. "
        f"{len(moved)} of {len(now)} answers changed."
    )
    yield ""
    yield "    uv run python packages/papers/bench/papers.py --again"
    yield "    uv run python packages/papers/bench/changed.py"
    yield ""
    yield "| cause | claims | means |"
    yield "|---|---|---|"
    counts = Counter(causes.values())
    for name, meaning in CAUSES.items():
        yield f"| {name} | {counts[name]} | {meaning} |"
    yield ""
    yield "| claim | before | now | direction | size | cause | before, ours | now, ours | why |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in moved:
        old = before[row.id]
        cells = (
            row.id,
            old.answer,
            row.answer,
            row.direction or DASH,
            row.size or DASH,
            causes[row.id],
            printed(old.ours, old.page),
            printed(row.ours, row.page),
            row.why or why(causes[row.id]),
        )
        yield "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
    yield ""
    yield stays(before, now)


def stays(before: dict[str, Before], now: list[Row]) -> str:
    """Return the claims that have the same answer although its loads changed."""
    other = [
        row.id
        for row in now
        if row.answer == before[row.id].answer and row.page != before[row.id].page
    ]
    return (
        f"{len(other)} claims keep their answer by other loads: {', '.join(other)}. megyesi2016's "
        "native answers are of first visits, and no longer come before repeat visits."
    )


def cause(old: Before, row: Row, claim: Claim) -> str:
    if claim.derived or claim.untestable or row.id in RULES:
        return "rule"
    if row.id in THIRD or row.why == NO_SHARE:
        return "version 3"
    if row.id in FRAMES:
        return "loads"
    if row.answer == "open" and old.answer == "not testable":
        return "rule"
    if row.size == "not testable" and old.answer != "open":
        return "page"
    if row.answer == "open":
        return "loads"
    return "page" if row.size == "not testable" and row.direction is None else "unit"


RULES = {"cook2017-11", "cook2017-15", "wolsing2019-53", "wolsing2019-55", "wolsing2019-59"}
"""Claims whose predicate, or the choice of whose page, changed."""
THIRD = {"biswal2016-16", "biswal2016-17", "wolsing2019-29"}
"""Claims whose range asks for its ends, or whose invalid visits could turn it."""
FRAMES = {"wolsing2019-41", "wolsing2019-45"}
"""First paints within a frame of the edge, in loads in which computing took no time."""


def why(name: str) -> str:
    return {"unit": "by the loads of these pages", "rule": "see the decision"}.get(name, "")


def printed(ours: str, page: str) -> str:
    if not ours:
        return DASH
    return f"{short(ours)} ([{page}]({page}.md))" if page else short(ours)


if __name__ == "__main__":
    main()
