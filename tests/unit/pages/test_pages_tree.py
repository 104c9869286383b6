"""Initiator trees and live pages."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.model.page import Page, Resource
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.live import live_page
from dragstrip.pages.tree import depths, initiator_tree, walk


def page(*pairs):
    made = [
        Resource(url=u, method="GET", status=200, mime="", body_bytes=0, initiator=i)
        for u, i in pairs
    ]
    return Page(name="p", path=Path(), url="a", resources=tuple(made), source="", digest="0" * 12)


def test_children_hang_on_who_asked_for_them():
    roots = initiator_tree(page(("a", ""), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "gone")))
    assert [(n.resource.url, n.depth) for n in walk(roots)] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
        ("d", 1),
        ("e", 0),
    ]
    assert depths(roots) == [2, 2, 1]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=12))
def test_every_resource_stands_in_the_tree_once_whatever_the_initiators(pairs):
    found = list(walk(initiator_tree(page(*pairs))))
    assert len(found) == len(pairs)
    assert sorted(n.resource.url for n in found) == sorted(u for u, _ in pairs)


def test_a_live_page_is_a_url():
    live = live_page("https://example.org/news/")
    assert (live.name, live.live, live.resources) == ("example.org_news", True, ())
    for wrong in ("demo", "ftp://example.org/", "https://"):
        with pytest.raises(PageError, match="--live"):
            live_page(wrong)
