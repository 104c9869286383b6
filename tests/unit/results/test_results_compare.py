import math
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Outcome, Reason, Visit
from dragstrip.results.blocks import trials
from dragstrip.results.compare.stacks import compare
from dragstrip.results.compare.summary import Comparison
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables.build import frames
from dragstrip.visit.metrics import METRICS, Metric

STACKS = ("h1", "h2", "h3")


def study(stacks: tuple[Literal["h1", "h2", "h3"], ...] = ("h1", "h2")) -> Study:
    page = Page(name="demo", path=Path("x"), url="u", resources=(), source="", digest="")
    return Study(
        name="s",
        pages=(page,),
        networks=(Network(name="LTE", down=Direction(), up=Direction()),),
        stacks=tuple(Stack(name=s, protocol=s) for s in stacks),
        runs=3,
        seed=1,
        client=Client(timeout_s=10),
    )


def visit(
    stack: str,
    plt_ms: float | None,
    *,
    block: int = 0,
    attempt: int = 0,
    outcome: Outcome = "loaded",
    reasons: tuple[Reason, ...] = (),
    ttfb_ms: float | None = 100,
    fcp_ms: float | None = None,
) -> Visit:
    return Visit(
        block=f"demo|LTE|{block}",
        attempt=attempt,
        position=0,
        page="demo",
        network="LTE",
        stack=stack,
        seed=1,
        started_us=block,
        outcome=outcome,
        plt_ms=plt_ms,
        ttfb_ms=ttfb_ms,
        fcp_ms=fcp_ms,
        reasons=reasons,
    )


BAD = (Reason("overloaded", "late"),)


def cell(
    visits: list[Visit], stacks: tuple[Literal["h1", "h2", "h3"], ...] = ("h1", "h2")
) -> Observed:
    of = study(stacks)
    (found,) = observed(of, frames(visits, of)["visits"].with_row_index("row").lazy())
    return found


def only(found: list[Comparison], metric: str) -> Comparison:
    (one,) = (c for c in found if c.metric == metric)
    return one


def test_the_ratio_is_the_later_stack_over_the_first() -> None:
    visits = [visit("h2", 800), visit("h1", 1000)]
    found = only(compare(study(), visits), "plt_ms")
    assert (found.a, found.b, found.n, found.censored) == ("h1", "h2", 1, 0)
    assert found.ratio == pytest.approx(0.8)
    assert found.low is None


def test_all_pairs_in_the_order_of_the_stacks() -> None:
    visits = [visit(s, 100 * i) for i, s in enumerate(STACKS, start=1)]
    found = [c for c in compare(study(("h1", "h2", "h3")), visits) if c.metric == "plt_ms"]
    assert [(c.a, c.b, round(c.ratio, 3)) for c in found] == [
        ("h1", "h2", 2),
        ("h1", "h3", 3),
        ("h2", "h3", 1.5),
    ]


def test_only_the_last_attempt_counts() -> None:
    visits = [
        visit("h1", 1, reasons=BAD),
        visit("h2", 999),
        visit("h1", 1000, attempt=1),
        visit("h2", 500, attempt=1),
    ]
    assert only(compare(study(), visits), "plt_ms").ratio == pytest.approx(0.5)


@pytest.mark.parametrize(
    "second",
    [
        [visit("h1", 1, block=1), visit("h2", 9, block=1, reasons=BAD)],
        [visit("h1", 1, block=1)],
        [visit("h1", 1, block=1), visit("h2", 9, block=1), visit("h1", 1, block=1, attempt=1)],
    ],
    ids=["invalid", "incomplete", "rerun incomplete"],
)
def test_a_block_that_is_not_whole_and_valid_is_left_out(second: list[Visit]) -> None:
    visits = [visit("h1", 1000), visit("h2", 800), *second]
    found = only(compare(study(), visits), "plt_ms")
    assert (found.n, round(found.ratio, 3)) == (1, 0.8)
    assert [t.counts for t in trials(visits, ("h1", "h2"))] == [True, False]


def test_a_timeout_is_slower_than_any_load_and_is_named() -> None:
    visits = [visit("h1", 1000), visit("h2", None, outcome="timeout")]
    found = only(compare(study(), visits), "plt_ms")
    assert (found.censored, found.ratio) == (1, math.inf)
    assert only(compare(study(), visits), "ttfb_ms").censored == 0  # its first byte did arrive


def test_a_load_event_does_not_rescue_a_failed_load() -> None:
    seen = cell([visit("h1", 50, outcome="failed"), visit("h2", 60)]).of("h1", "plt_ms")
    assert (seen.values.tolist(), seen.censored.tolist()) == ([10_000], [True])


NO_WAITS = ("ideal_ms", "down_idle_ms", "up_idle_ms", "server_cpu_ms")
"""Times that do not pass until something happens."""


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_time_is_censored_where_a_load_failed_before_it(metric: Metric) -> None:
    """Derived from the list of metrics: a metric that is added is judged like those here."""
    seen = cell([visit("h1", None, outcome="failed", ttfb_ms=None), visit("h2", 60)])
    found = seen.of("h1", metric.name)
    waits = metric.unit == "ms" and metric.name not in NO_WAITS
    assert found.censored.tolist() == [waits]
    assert found.values.tolist() == [10_000] or not waits
    assert seen.of("h1", "requests").values.tolist() == [0]


def test_what_a_browser_never_measures_is_not_what_a_failed_load_never_reached() -> None:
    failed, loaded = visit("h1", None, outcome="failed"), visit("h1", 50, block=1)
    seen = cell([failed, visit("h2", 1), loaded, visit("h2", 1, block=1)])
    assert not len(seen.of("h1", "lcp_ms").known)
    assert seen.of("h1", "plt_ms").values.tolist() == [10_000, 50]
    assert math.inf not in seen.values_of(seen.visits, "lcp_ms")
    assert seen.values_of(seen.visits, "plt_ms").tolist() == [math.inf, 1, 50, 1]


def test_a_metric_without_reports_is_not_compared() -> None:
    visits = [visit("h1", 1000, fcp_ms=10), visit("h2", 800)]
    found = {c.metric for c in compare(study(), visits)}
    assert {"plt_ms", "ttfb_ms"} <= found
    assert "fcp_ms" not in found


def test_where_there_are_zeros_there_is_no_ratio() -> None:
    visits = [visit("h1", 1000), visit("h2", 800)]
    assert "requests" not in {c.metric for c in compare(study(), visits)}


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(STACKS), st.booleans())
    )
)
def test_the_table_says_the_same_of_blocks_as_the_visits_themselves(
    made: list[tuple[int, int, Literal["h1", "h2", "h3"], bool]],
) -> None:
    once = {(block, attempt, stack): valid for block, attempt, stack, valid in made}
    visits = [
        visit(stack, 100, block=block, attempt=attempt, reasons=() if valid else BAD)
        for (block, attempt, stack), valid in once.items()
    ]
    found = trials(visits, STACKS)
    seen = cell(visits, STACKS)
    good = [t.block for t in found if t.counts]
    assert seen.begun == len(found)
    assert [rows["block"].to_list() for rows in seen.stacks.values()] == [good] * 3
    assert seen.spoiled == sum(any(not v.valid for v in t.visits.values()) for t in found)


def test_nothing_to_compare() -> None:
    assert compare(study(), []) == []
