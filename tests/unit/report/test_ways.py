"""The report names how servers differed where stacks differ in it."""

from msgspec import structs

import made
from dragstrip.report.data.ways import ways
from dragstrip.results.tables.build import frames


def said(**of_h2: object) -> list[str]:
    """Sentences on a study whose h2 stack answered in this way."""
    plain, other = made.visit("h1"), made.visit("h2")
    changed = tuple(structs.replace(r, **of_h2) for r in other.requests[1:])
    other = structs.replace(other, requests=(other.requests[0], *changed))
    study = made.study()
    return list(ways(study, frames([plain, other], study)["requests"].lazy()))


def test_servers_that_do_the_same_need_no_word():
    assert said() == []


def test_another_coding_is_named_with_its_share():
    assert said(coding="br") == ["Servers coded answers differently: h1 none, h2 67% (br)."]


def test_early_hints_are_named_with_their_share():
    (sentence,) = said(hinted=True)
    assert sentence.endswith("(Early Hints): h1 0%, h2 67%.")
