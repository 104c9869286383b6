"""When a page counts as loaded, as it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.model.done import parse_done, said_done
from dragstrip.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("load", True),
        ("network-idle", True),
        ("selector:#hero", False),
        ("selector:a:not(.b)", False),
        ("mark:ready", False),
    ],
)
def test_what_can_be_waited_for(text, whole):
    assert parse_done(text).whole == whole
    assert said_done(text)


@pytest.mark.parametrize("text", ["", "loaded", "selector:", "mark: ", "selector", "load:x"])
def test_anything_else_is_answered_with_what_there_is(text):
    with pytest.raises(InputError, match="write load, network-idle, selector:CSS"):
        parse_done(text)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        done = parse_done(text)
    except InputError:
        return
    assert text.startswith(done.kind)
    assert done.what in text
