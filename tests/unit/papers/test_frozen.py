"""Rules are fixed before the data they judge, and readers of an answer can see it."""

import pytest
from msgspec import structs

from dragstrip.verdict.rules import VERSION as VERDICT
from dragstrip_papers import predicates
from dragstrip_papers.claims import KNOWN, published
from dragstrip_papers.frozen import DIGESTS, Frozen


def test_rules_have_the_version_of_claims_predicates_and_verdict():
    paper = published("ranjan2019")
    newer = structs.replace(paper, paper=structs.replace(paper.paper, version=7))
    assert newer.rules == f"7.{predicates.VERSION}.{VERDICT}"
    assert published("megyesi2016").native().rules == published("megyesi2016").rules


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ((), ""),
        (("1.1.2",), "The rules that answer (1.1.2) stood before the first visit."),
        (("1.1.1", "1.1.2"), "are not those of the day on which visits began (1.1.1)"),
        (("",), "are not those of the day on which visits began (not kept)"),
        (("4e195cfbe24d",), "are not those of the day on which visits began (4e195cfbe24d)"),
    ],
)
def test_a_page_says_whether_its_rules_came_first(then, said):
    words = Frozen.since("1.1.2", then).words()
    assert said in words
    assert bool(said) == bool(words)


def test_the_last_digests_are_the_first_version():
    assert len(DIGESTS) == len(KNOWN)
    for digest, version in DIGESTS.items():
        assert Frozen.since(version, [digest, version]).then == (version,)
