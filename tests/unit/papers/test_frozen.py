"""Rules are fixed before the data they judge, and whoever reads an answer can see it."""

import ast

import pytest

from dragstrip.papers import frozen
from dragstrip.papers.claims import KNOWN
from dragstrip.papers.frozen import Frozen, rules_digest


def test_the_code_that_answers_is_found_by_its_imports():
    found = frozen._closure(frozen._ROOTS)
    assert {"dragstrip.papers.compare", "dragstrip.stats.block_ratio"} <= found
    assert not found & {"dragstrip.papers.campaign.plan", "dragstrip.papers.worlds.simulate"}


def test_each_paper_has_rules_of_its_own():
    assert len({rules_digest(key) for key in KNOWN}) == len(KNOWN)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("def f(x):\n    return x < 2\n", True),
        ('def f(x):\n    """A text."""\n\n    # And a remark.\n    return x<2', True),
        ("def f(x):\n    return x <= 2\n", False),
    ],
)
def test_a_remark_changes_no_rule_and_a_sign_does(monkeypatch, now, same):
    def code(text: str) -> str:
        monkeypatch.setattr(frozen, "_tree", lambda name: ast.parse(text))
        return frozen._code("a")

    assert (code(now) == code("def f(x):\n    return x < 2\n")) == same


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ((), ""),
        (("a1",), "The rules that answer (a1) stood before the first visit."),
        (("b2", "a1"), "are not those of the day on which visits began (b2)"),
        (("",), "are not those of the day on which visits began (not kept)"),
    ],
)
def test_a_page_says_whether_its_rules_came_first(then, said):
    words = Frozen(now="a1", then=then).words()
    assert said in words
    assert bool(said) == bool(words)
