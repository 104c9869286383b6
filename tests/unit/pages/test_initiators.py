"""Causes of requests, held against a slow way of finding them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragstrip.pages.importers.initiators import Clues, causes

URLS = [f"https://a.test/{i}" for i in range(4)]
PROMPT_MS = 100.0


@st.composite
def visits(draw):
    """A document and requests by start."""
    starts = sorted(draw(st.lists(st.integers(0, 900), min_size=1, max_size=12)))
    made = [clue(URLS[0], "document", 0, 50)]
    for start in starts:
        made.append(
            clue(
                draw(st.sampled_from(URLS)),
                draw(st.sampled_from(["script", "style", "font", "image", "document"])),
                start,
                start + draw(st.integers(0, 400)),
                initiator=draw(st.sampled_from(["", *URLS])),
                referer=draw(st.sampled_from(["", *URLS])),
            )
        )
    return made


def clue(url, kind, start_ms, end_ms, *, initiator="", referer=""):
    return Clues(
        url=url,
        kind=kind,
        start_ms=start_ms,
        end_ms=end_ms,
        initiator=initiator,
        referer=referer,
        follows=None,
    )


def last_ended(seen, among, before_ms, other):
    ended = [i for i in among if seen[i].end_ms <= before_ms]
    return max(ended, key=lambda i: seen[i].end_ms, default=other)


def slow_parent(seen, made, index, initiator):
    """The cause of a request as the docstring of `causes` describes it, found by reading every
    request."""
    if initiator is None:
        return None
    caused = [i for i in range(initiator + 1, index) if made[i].initiator == initiator]
    begun = max(seen[initiator].end_ms, seen[caused[0] if caused else index].start_ms)
    if seen[index].start_ms <= begun + PROMPT_MS:
        return initiator
    below = {initiator}
    for later in range(initiator + 1, index):
        if made[later].parent in below:
            below.add(later)
    pages = ("", seen[initiator].url, seen[index].referer)
    waits = sorted(i for i in below if seen[i].kind == "script" and seen[i].referer in pages)
    return last_ended(seen, waits, seen[index].start_ms, initiator)


@given(visits())
@settings(max_examples=200, deadline=None)
def test_each_request_waits_for_the_script_that_ended_last_before_it(seen):
    made = causes(seen, 0)
    for index, cause in enumerate(made):
        assert cause.parent == slow_parent(seen, made[:index], index, cause.initiator)


@given(visits())
@settings(max_examples=100, deadline=None)
def test_a_font_comes_from_the_style_sheet_that_ended_last_before_it(seen):
    for index, cause in enumerate(causes(seen, 0)):
        request = seen[index]
        named = [i for i in range(index) if seen[i].url in (request.initiator, request.referer)]
        if request.kind == "font" and not named:
            styles = [i for i in range(1, index) if seen[i].kind == "style"]
            assert cause.initiator == last_ended(seen, styles, request.start_ms, 0)


@pytest.mark.parametrize("count", [3_000])
def test_scripts_in_a_long_chain_each_wait_for_the_one_before(count):
    chain = [clue("https://a.test/", "document", 0, 5)]
    for i in range(1, count):
        before = chain[-1].url
        chain.append(clue(f"https://a.test/{i}.js", "script", i * 10, i * 10 + 5, initiator=before))
    assert [c.parent for c in causes(chain, 0)] == [None, *range(count - 1)]
