"""`bias` finds invalid visits that affect one stack more than others, and no other ones."""

import polars as pl
from msgspec import structs

import made
from dragstrip.model.visit import Reason, Visit
from dragstrip.report.data.belief import belief
from dragstrip.results.bias import EVERYWHERE, bias, bias_of_table
from dragstrip.results.compare.bias_words import rates, sentence, where

STACKS = ("h1", "h2", "h3")


def visits(page: str, invalid: dict[str, int], each: int = 30) -> list[Visit]:
    bad = (Reason("overloaded", "made up"),)
    return [
        made.visit(
            stack,
            block=f"{page}|LTE|{i}",
            page=page,
            reasons=bad if i < invalid.get(stack, 0) else (),
        )
        for stack in STACKS
        for i in range(each)
    ]


def table(of: list[Visit]) -> pl.LazyFrame:
    pages = tuple(dict.fromkeys(v.page for v in of))
    return made.table(made.study(pages=pages or ("made",)), of)


def test_a_stack_with_more_invalid_visits_is_shown():
    (one,) = bias(visits("made", {"h3": 9}), STACKS)
    assert one.shown
    assert (where(one), rates(one)) == ("made over LTE", "h1 0 of 30, h2 0 of 30, h3 9 of 30")


def test_invalid_visits_of_all_stacks_alike_are_not():
    (one,) = bias(visits("made", {"h1": 5, "h2": 6, "h3": 4}), STACKS)
    assert not one.shown
    assert bias(visits("made", {}), STACKS) == []


def test_a_bias_too_small_for_each_cell_shows_over_all():
    many = [v for i in range(8) for v in visits(f"page{i}", {"h3": 2}, each=10)]
    everywhere, *cells = bias(many, STACKS)
    assert everywhere.cell == EVERYWHERE
    assert everywhere.shown
    assert len(cells) == 8
    assert bias_of_table(table(many), STACKS) == [everywhere, *cells]
    assert not any(c.shown for c in cells)


def test_all_cells_together_are_tested_by_themselves():
    """A gap of six points over 474 visits: p 0.004, which fifty lines would hide."""
    many = [
        v
        for i in range(50)
        for v in visits(f"page{i}", {"h3": 1} if i < 19 else {"h2": 1} if i < 24 else {}, each=5)
        if v.stack != "h1" and (i < 37 or not v.block.endswith("|4"))
    ]
    everywhere, *cells = bias(many, STACKS[1:])
    assert sum(r.visits for r in everywhere.rates) == 474
    assert (everywhere.p < 0.01, min(c.p for c in cells)) == (True, 1)
    assert "all cells: h2 5 of 237, h3 19 of 237" in sentence([everywhere, *cells])
    calm = bias(visits("page0", {"h3": 1}) + visits("page1", {"h2": 2}), STACKS)
    assert "could be shown (all cells: h1 0 of 60, h2 2 of 60" in sentence(calm)


def test_many_cells_do_not_cry_wolf():
    """One cell in forty at p 0.02 is what chance does."""
    alone = bias(visits("page0", {"h3": 5}), STACKS)
    crowd = [v for i in range(40) for v in visits(f"page{i}", {"h3": 5} if not i else {"h1": 1})]
    assert alone[0].shown
    assert not any(b.shown for b in bias(crowd, STACKS) if b.cell != EVERYWHERE)


def test_the_report_names_reasons_with_what_to_do_and_limits_that_were_set():
    study = made.study()
    limits = structs.replace(study.thresholds, steal_share=0.5)
    found = belief(structs.replace(study, thresholds=limits), table(visits("made", {"h3": 9})))
    (reasons,) = found.reasons
    assert (reasons.code, reasons.visits) == ("overloaded", 9)
    assert reasons.meaning.fix
    assert "come with bounds" in found.sentence
    assert [one.name for one in found.limits if one.changed] == ["steal_share"]
    assert belief(study, table([])).sentence == ""
