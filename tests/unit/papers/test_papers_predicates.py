"""Every kind of predicate on made loads in which it is true, false or open."""

import re

import msgspec
import numpy as np
import polars as pl
import pytest

from dragstrip_papers.answer import Band, incomplete, settle
from dragstrip_papers.base import ask
from dragstrip_papers.estimate import Typical
from dragstrip_papers.evidence import nothing
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import KINDS, AnyPredicate
from dragstrip_papers.rtts import Magnitude
from made_loads import cell, evidence, pages

FAST = {"a": 100.0, "b": 80.0}
SAME = {"a": 100.0, "b": 100.0}
SLOW = {"a": 100.0, "b": 125.0}
NAMES = {"q": "QUIC", "s": "SPDY", "h": "HTTP"}
WIN = {"q": 50.0, "s": 100.0, "h": 100.0}
DRAW = {"q": 100.0, "s": 100.0, "h": 100.0}


def step(here: dict, there: dict, **names: object) -> Evidence:
    return evidence(cell(here, network="here"), cell(there, network="there"))


def along(ratio_at) -> Evidence:
    """b / a by number of objects, on two rates of which one is much slower."""
    return evidence(
        *(
            cell(
                {"a": 1000 / rate, "b": 1000 / rate * ratio_at(n)},
                page=f"x{n}",
                network=str(rate),
                objects=n,
                rate_mbps=rate,
            )
            for n in (2, 8, 16, 64)
            for rate in (1, 2, 5, 10, 50, 100)
        )
    )


def grid(times: dict) -> Evidence:
    return evidence(
        *(
            cell(times, page=f"o{n}", network=f"l{loss}", objects=n, loss=loss)
            for n in (5, 50)
            for loss in (0.0, 0.02)
        )
    )


STEP = {"here": {"network": "here"}, "there": {"network": "there"}}
TREE = {
    "names": NAMES,
    "levels": {"objects": {"factor": "objects", "split": 20, "low": "few", "high": "many"}},
    "leaves": [
        {"levels": {"objects": "few"}, "winner": "QUIC"},
        {"levels": {"objects": "many"}, "winner": "QUIC"},
    ],
    "at_least": 0.6,
}
TERMS = [{"a": "b", "ref": "a", "metric": "plt_ms"}, {"a": "c", "ref": "a", "metric": "plt_ms"}]


def both(more: float, less: float) -> Evidence:
    return pages(lambda i: {"a": 100.0, "b": 100 - more, "c": 100 - less})


def audited(impossible: int) -> Evidence:
    return Evidence(nothing(), pl.DataFrame({"impossible": [True] * impossible + [False] * 4}))


CASES = [
    ("absolute", {"stack": "a", "at_least": 90, "at_most": 110}, evidence(cell(FAST)),
     evidence(cell({"a": 300.0}))),
    ("anova_count", {"pairs": [["b", "a"]], "networks": ["n"], "metrics": ["plt_ms"], "cells": 8,
     "loads": 12, "faster": {"low": 6}}, pages(lambda i: FAST), pages(lambda i: SLOW)),
    ("audit_count", {"captures": 4, "at_least": 3, "at_most": 3}, audited(3), audited(1)),
    ("corpus", {"of": "object_bytes", "at_least": 9e3, "at_most": 11e3}, evidence(cell(FAST)),
     evidence(cell(FAST, objects=1.0))),
    ("correlation", {"a": "a", "b": "b", "where": {"network": "here"}, "at_least": 0.4, "others":
     [{"network": "there"}]},
     evidence(*(cell({"a": 100.0, "b": 50.0 + 20 * i}, page=f"p{i}", network=n)
                for i in range(12) for n in ("here", "there"))),
     evidence(*(cell({"a": 100.0, "b": 200.0 - f * 9 * i}, page=f"p{i}", network=n)
                for i in range(12) for n, f in (("here", 1), ("there", -1))))),
    ("difference", {"a": "b", "ref": "a", "at_most": -10}, evidence(cell(FAST)),
     evidence(cell(SLOW))),
    ("equal", {"stacks": ["a", "b"], "margin": 0.05}, evidence(cell(SAME)), evidence(cell(SLOW))),
    ("extreme", {"a": "a", "b": ["b"], "at_least": 1.1, "at_most": 1.4, "cells": 2},
     evidence(cell(FAST), cell(SLOW, page="p2")), evidence(cell(FAST), cell(FAST, page="p2"))),
    ("faster_share", {"a": "b", "than": ["a"], "at_least": 0.7, "cells": 8},
     pages(lambda i: FAST if i else SLOW), pages(lambda i: SLOW if i else FAST)),
    ("gain", {"a": "b", "ref": "a", "at_least": -0.25, "at_most": -0.15, "cells": 8},
     pages(lambda i: FAST), pages(lambda i: SLOW)),
    ("handshake_rtts", {"stack": "a", "at_least": 1.8, "at_most": 2.2},
     evidence(cell({"a": 200.0}), cell({"a": 1.0}, network="no delay", rtt_ms=0.0)),
     evidence(cell({"a": 300.0}))),
    ("implied_bytes", {"stacks": ["a"], "at_most": 2e5}, evidence(cell(FAST)),
     evidence(cell({"a": 1000.0}))),
    ("magnitude_order", {"terms": TERMS}, both(30, 10), both(10, 30)),
    ("mean_delta", {"a": "b", "ref": "a", "at_least": -26, "at_most": -14},
     pages(lambda i: FAST), pages(lambda i: SLOW)),
    ("monotone_in", {"a": "a", "b": "b", "factor": "objects", "rising": True},
     along(lambda n: 0.5 + n / 50), along(lambda n: 2 - n / 50)),
    ("one_rtt", {"a": "b", "ref": "a", "at_least": -0.2, "at_most": 0.2},
     evidence(cell({"a": 400.0, "b": 300.0}, spread=0.001)), evidence(cell(SAME))),
    ("one_rtt_table", {"a": "b", "ref": "a", "metrics": ["plt_ms"], "positive": {"high": 0},
     "greatest": {"high": 1}}, evidence(cell({"a": 400.0, "b": 250.0})), evidence(cell(SLOW))),
    ("ordering", {"groups": [["b"], ["a", "c"]], "alike": 0.05},
     evidence(cell(FAST | {"c": 100.0})), evidence(cell(SLOW | {"c": 100.0}))),
    ("ratio", {"a": "a", "b": "b", "at_most": 1, "same": 0.05, "each": True},
     pages(lambda i: FAST), pages(lambda i: FAST if i else SLOW)),
    ("ratio_shift", {"a": "a", "b": "b", "at_most": 1, **STEP}, step(SAME, FAST),
     step(SAME, SLOW)),
    ("rule7010", {"names": NAMES, "winner": "QUIC"}, evidence(cell(WIN)), evidence(cell(DRAW))),
    ("same_ranking", {"stacks": ["a", "b"], **STEP}, step(FAST, FAST), step(FAST, SLOW)),
    ("scenario_share", {"names": NAMES, "winner": "QUIC", "at_least": 0.4, "cells": 4}, grid(WIN),
     grid(DRAW)),
    ("sensitivity", {"stack": "b", "at_least": 1.4, **STEP}, step(FAST, SLOW), step(SLOW, FAST)),
    ("sensitivity_order", {"less": "a", "more": "b", "scale": "ms", **STEP}, step(FAST, SLOW),
     step(SLOW, FAST)),
    ("share_order", {"a": "b", "than": ["a"], "more": {"network": "there"}, "less":
     {"network": "here"}}, step(SLOW, FAST), step(FAST, SLOW)),
    ("tree", TREE, grid(WIN), grid(DRAW)),
    ("all", {"parts": [{"kind": "difference", "a": "b", "ref": "a", "at_most": 0}] * 2},
     evidence(cell(FAST)), evidence(cell(SLOW))),
    ("either", {"parts": [{"kind": "difference", "a": "b", "ref": "a", "at_most": m}
                          for m in (-90, 0)]}, evidence(cell(FAST)), evidence(cell(SLOW))),
]  # fmt: skip


def predicate(kind: str, parameters: dict) -> AnyPredicate:
    return msgspec.convert({"kind": kind, **parameters}, AnyPredicate)


@pytest.mark.parametrize(
    ("kind", "parameters", "true", "false"), CASES, ids=[case[0] for case in CASES]
)
def test_a_kind_knows_true_from_false_and_nothing_from_both(kind, parameters, true, false):
    asked = predicate(kind, parameters)
    assert asked.answer(true).verdict == "reproduced", asked.answer(true)
    assert asked.answer(false).verdict == "contradicted", asked.answer(false)
    empty = asked.answer(Evidence(nothing()))
    assert empty.verdict == "open"
    assert empty.why


def test_every_kind_has_a_case():
    assert {case[0] for case in CASES} == {kind.__struct_config__.tag for kind in KINDS}


def around(low: float, value: float, high: float) -> Typical:
    """Five rounds whose mean has this interval."""
    return Typical([low, low + (value - low) / 2, value, value + (high - value) / 2, high])


def test_an_interval_settles_only_what_it_leaves_no_doubt_about():
    below, same = Band(high=1.0), Band(0.95, 1.05)
    assert settle(around(0.7, 0.8, 0.9), below, same=same).verdict == "reproduced"
    assert settle(around(0.98, 1.0, 1.02), below, same=same).verdict == "equivalent"
    assert settle(around(1.01, 1.03, 1.04), below, same=same).verdict == "equivalent"
    assert settle(around(1.2, 1.3, 1.4), below, same=same).verdict == "contradicted"
    assert settle(around(0.7, 0.9, 1.1), below).verdict == "open"
    some = incomplete(settle(around(0.7, 0.8, 0.9), below), 2, 6)
    assert (some.verdict, some.why) == ("open", "reproduced on 2 of its 6 cells")


def test_no_median_vetoes_a_claim_about_means():
    """Loads in which b takes half the time in nine rounds of ten, and in one so long that its mean
    is longer."""
    rows = cell({"a": 100.0, "b": 50.0}, blocks=400, spread=0.01)
    late = pl.col("block").str.ends_with("0") & (pl.col("stack") == "b")
    told = evidence(rows.with_columns(plt_ms=pl.when(late).then(1900.0).otherwise("plt_ms")))
    asked = {"a": "a", "b": "b", "at_least": 1.0}
    assert predicate("ratio", asked | {"statistic": "mean"}).answer(told).verdict == "reproduced"
    assert predicate("ratio", asked).answer(told).verdict == "contradicted"


def test_one_cell_that_contradicts_it_settles_a_claim_about_each():
    asked = {"a": "a", "b": "b", "at_most": 1.0, "each": True, "cells": 20}
    some = pages(lambda i: SLOW if i == 3 else FAST)
    assert predicate("ratio", asked).answer(some).verdict == "contradicted"
    together = predicate("ratio", asked | {"each": False}).answer(pages(lambda i: SLOW))
    assert (together.verdict, together.why) == ("open", "contradicted on 8 of its 20 cells")


def test_a_part_with_enough_blocks_contradicts_beside_one_with_few():
    part = {"kind": "ratio", "a": "a", "b": "b", "at_most": 1.0}
    both = {"parts": [part | {"where": {"page": name}} for name in ("slow", "few")]}
    told = evidence(cell(SLOW, page="slow"), cell(FAST, page="few", blocks=3))
    assert predicate("all", both).answer(told).verdict == "contradicted"
    few = evidence(cell(SLOW, page="slow", blocks=5), cell(FAST, page="few", blocks=5))
    assert predicate("all", both).answer(few).verdict == "open", "each has but one way to show it"


def test_one_block_decides_nothing():
    asked = predicate("ratio", {"a": "a", "b": "b", "at_most": 1, "loads": 1})
    assert asked.answer(evidence(cell(FAST, blocks=1))).verdict == "open"


def test_too_few_loads_say_something_and_settle_nothing():
    asked = predicate("faster_share", {"a": "b", "than": ["a"], "at_least": 0.7, "loads": 5})
    few = ask(asked, evidence(cell(FAST, blocks=1)))
    assert few.ours.startswith("1 of 1 cells")
    assert few.verdict == "open"
    assert "fewer than the 5 complete blocks" in few.why
    none = ask(asked, Evidence(nothing()))
    assert (none.ours, "no cell of it" in none.why) == ("", True)
    assert ask(asked, evidence(cell(FAST, blocks=5))).verdict == "reproduced"


def shares(blocks: int, first: int = 0) -> tuple[str, float, float]:
    """Return the words, the share and its interval's width, from `blocks` blocks of 20 cells from
    `first` on."""
    close = pages(lambda i: {"a": 1000.0, "b": 960.0}, blocks=20, spread=0.1)
    here = pl.col("block").str.slice(-3).cast(int).is_between(first, first + blocks - 1)
    asked = {"a": "b", "than": ["a"], "take": 5, "loads": 5, "cells": 8}
    found = predicate("faster_share", asked).answer(Evidence(close.loads.filter(here)))
    share, low, high = map(float, re.findall(r"[\d.]+", found.ours.partition("share ")[2]))
    return found.ours, share, high - low


def test_each_set_of_five_loads_decides_a_cell_anew():
    sets = [shares(5, first) for first in (0, 5, 10, 15)]
    words, share, width = shares(20)
    assert words.startswith("6 of 8 cells, the mean of 4 sets of 5 loads, share ")
    assert share == pytest.approx(np.mean([one for _, one, _ in sets]), abs=1e-3)
    assert len({one for _, one, _ in sets}) > 1
    assert width < 0.75 * np.mean([one for _, _, one in sets])


def test_loads_that_fill_no_set_are_left_out():
    assert shares(7) == shares(5)
    assert "sets" not in shares(5)[0]


def test_of_many_parts_those_without_a_number_are_not_told():
    asked = {"pairs": [["b", "a"]], "metrics": ["plt_ms"], "loads": 12, "cells": 38}
    asked |= {"networks": ["none", "nor", "neither", "never", "n"], "faster": {"low": 24}}
    told = predicate("anova_count", asked).answer(pages(lambda i: FAST)).ours
    assert told.startswith("b against a, plt_ms on n: ")
    assert told.endswith("; and 4 more")


def test_an_order_of_shares_on_some_cells_does_not_settle_all():
    sides = {"more": {"network": "there"}, "less": {"network": "here"}, "cells": 2}
    asked = predicate("share_order", {"a": "b", "than": ["a"]} | sides)
    one = asked.answer(step(SLOW, FAST))
    assert one.verdict == "open"
    assert one.why == "reproduced on 1 of its 2 cells"


def test_cells_that_are_not_run_may_fall_either_way():
    asked = {"a": "b", "than": ["a"], "at_least": 0.7}
    some = pages(lambda i: FAST)
    assert predicate("faster_share", asked | {"cells": 10}).answer(some).verdict == "reproduced"
    open_ = predicate("faster_share", asked | {"cells": 20}).answer(some)
    assert open_.verdict == "open"
    assert "12 of its 20 cells" in open_.why
    count = {"pairs": [["b", "a"]], "networks": ["n"], "metrics": ["plt_ms"], "loads": 12}
    few = predicate("anova_count", count | {"cells": 38, "faster": {"low": 24}})
    assert few.answer(some).verdict == "open"


def test_counts_of_tests_are_compared_over_the_papers_number_of_loads_alone():
    count = {"pairs": [["b", "a"]], "networks": ["n"], "metrics": ["plt_ms"], "faster": {"low": 6}}
    few = predicate("anova_count", count | {"loads": 31}).answer(pages(lambda i: FAST))
    assert (few.verdict, few.why) == (
        "open",
        "not comparable: the paper counts over 31 loads a page",
    )
    assert "from 12 loads at most" in few.ours
    more = pages(lambda i: {"a": 100.0, "b": 99.0}, blocks=60)  # 1 % with 60 loads, not with 5
    five = predicate("anova_count", count | {"loads": 5}).answer(more)
    assert "0, 0, 8" in five.ours


def test_a_count_on_one_page_that_a_test_cannot_miss_is_answered():
    """The chance of neither is what the two others leave, and rounding may leave less than none."""
    count = {"pairs": [["b", "a"]], "networks": ["n"], "metrics": ["plt_ms"], "loads": 12}
    far = evidence(cell({"a": 100.0, "b": 1.0}, spread=0.001))
    asked = predicate("anova_count", count | {"cells": 1, "none": {"high": 0}})
    assert asked.answer(far).verdict == "reproduced"


def test_a_residual_over_zero_has_a_size_from_zero_on():
    """An interval of [-0.9, 1.9] does not mean a size from 0.9 to 1.9."""
    rounds = [-0.9, 0.1, 0.5, 0.9, 1.9]
    size = Magnitude(Typical(rounds))
    assert size.interval() == (0, 1.9)
    assert size.p_above(0.85) > 0.3
    table = {"a": "b", "ref": "a", "metrics": ["plt_ms"], "greatest": {"low": 0.8, "high": 2.0}}
    straddling = evidence(cell({"a": 200.0, "b": 150.0}, spread=0.5, blocks=5))
    assert predicate("one_rtt_table", table).answer(straddling).verdict == "open"


def test_a_scenario_the_paper_does_not_place_may_agree_with_either_reading():
    levels = {"rate": {"factor": "rate_mbps", "split": 20, "low": "low", "high": "high"}}
    leaves = [{"levels": {"rate": "high"}, "winner": "QUIC"},
              {"levels": {"rate": "low"}, "winner": "EQUAL"}]  # fmt: skip
    asked = {"names": NAMES, "levels": levels, "leaves": leaves, "at_least": 0.6}
    assert predicate("tree", asked).answer(grid(WIN)).verdict == "contradicted"
    levels["rate"]["either"] = 10
    assert predicate("tree", asked).answer(grid(WIN)).verdict == "reproduced"


def test_an_unknown_parameter_is_refused():
    with pytest.raises(msgspec.ValidationError, match="atleast"):
        predicate("ratio", {"a": "a", "b": "b", "atleast": 1})


@pytest.mark.parametrize(("blocks", "verdict"), [(2, "open"), (5, "reproduced")])
def test_a_few_blocks_on_one_side_decide_nothing(blocks, verdict):
    claim = {"kind": "ratio", "a": "a", "b": "b", "at_most": 1.0}
    answer = msgspec.convert(claim, AnyPredicate).answer(evidence(cell(FAST, blocks=blocks)))
    assert answer.verdict == verdict
    assert ("fewer than five blocks" in answer.why) == (blocks == 2)
