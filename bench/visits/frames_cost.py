"""What recording frames costs: page load time with and without, in paired blocks.

uv run python bench/visits/frames_cost.py [blocks, default 30] [--keep | --main-thread]

Each block visits the demo page over LTE twice per stack, with frames and without, in an order drawn
by lot and with the same seed for the link. A block with an invalid visit is counted and left out.
Two one-sided tests ask whether the two differ by less than 5 %. With --keep the result is kept for
this machine, and reports of studies with frames show it. With --main-thread the bench measures what
recording the main thread costs instead.
"""

import random
import statistics
import sys
import tempfile
from pathlib import Path

from msgspec import structs

from dragstrip.browsers.chromium import Chromium, chromium
from dragstrip.browsers.registry import browser_version
from dragstrip.model.frames_cost import FramesCost, StackFramesCost
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Block, Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visit
from dragstrip.pages.resolve import resolve
from dragstrip.results.frames_cost import keep
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import now
from dragstrip.stats.block_ratio import block_ratio
from dragstrip.study.presets import find_network, find_stack
from dragstrip.testbed.testbed import Testbed, testbed
from dragstrip.verdict.judge import with_verdict
from dragstrip.visit.drive import VisitPlan, visit

STACKS = ("h1", "h2", "h3")
NETWORK = "LTE"
PAGE = "demo"
MARGIN = 0.05
FEWEST = 3
LOOKS = "main_thread" if "--main-thread" in sys.argv else "frames"
"""What is recorded in every other visit."""


def one(
    bed: Testbed, browser: Chromium, page: Page, stack: Stack, index: int, *, looks: bool
) -> Visit:
    block = Block(page=page.name, network=NETWORK, index=index, seed=index, order=(stack.name,))
    plan = VisitPlan(
        block=block,
        attempt=0,
        page=page,
        network=find_network(NETWORK),
        stack=stack,
        client=structs.replace(Client(), **{LOOKS: looks}),
    )
    made, _ = visit(bed, browser, plan)
    return with_verdict(made, page, plan.network, stack, Thresholds())


def blocks(bed: Testbed, page: Page, stack: Stack, runs: int) -> list[dict[bool, Visit]]:
    made = []
    with chromium(bed, stack.protocol, Client()) as browser:
        one(bed, browser, page, stack, 0, looks=False)  # warms up
        for index in range(1, runs + 1):
            order = [True, False]
            random.Random(f"{stack.name}:{index}").shuffle(order)
            made.append(
                {looks: one(bed, browser, page, stack, index, looks=looks) for looks in order}
            )
    return made


def cost(stack: str, made: list[dict[bool, Visit]]) -> StackFramesCost | None:
    """None, and a word why, if too few blocks are valid."""
    good = [b for b in made if all(v.valid and v.plt_ms for v in b.values())]
    invalid = [v.verdict for b in made for v in b.values() if not v.valid]
    if len(good) < FEWEST:
        print(
            f"  {stack}: {len(good)} of {len(made)} blocks valid, too few to say ({set(invalid)})"
        )
        return None
    looked, blind = ([b[looks].plt_ms or 0 for b in good] for looks in (True, False))
    ratios = block_ratio(blind, looked)
    low, high = ratios.interval(0.95) or (None, None)
    found = StackFramesCost(
        stack=stack,
        blocks=len(good),
        with_ms=statistics.median(looked),
        without_ms=statistics.median(blind),
        ratio=ratios.value,
        low=low,
        high=high,
        p_equivalent=ratios.p_apart(MARGIN),
    )
    span = f"{low:.3f} to {high:.3f}" if low and high else "no interval"
    same = "shown" if found.p_equivalent < 0.05 else "not shown"
    print(
        f"  {stack}: PLT {found.with_ms:.0f} ms with, {found.without_ms:.0f} ms without; ratio "
        f"{found.ratio:.3f} ({span}); less than {MARGIN:.0%} apart: {same} "
        f"(p {found.p_equivalent:.2g}); {len(good)} of {len(made)} blocks valid"
    )
    return found


def main() -> None:
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    runs = int(wanted[0]) if wanted else 30
    print(f"{PAGE} page over {NETWORK}, {LOOKS}, {runs} blocks a stack:")
    with tempfile.TemporaryDirectory() as cache:
        page = resolve(PAGE, Path(cache))
        with testbed(page.hosts) as bed:
            bed.origin.serve(page)
            stacks = [find_stack(name) for name in STACKS]
            found = [cost(s.name, blocks(bed, page, s, runs)) for s in stacks]
    measured = tuple(c for c in found if c)
    if "--keep" in sys.argv and LOOKS == "frames" and measured:
        here = Machine.here()
        whole = FramesCost(
            measured=now(),
            cpu=here.cpu,
            cores=here.cores,
            browser_version=browser_version(),
            page=PAGE,
            network=NETWORK,
            margin=MARGIN,
            stacks=measured,
        )
        print(f"kept: {keep(whole)}")


if __name__ == "__main__":
    main()
