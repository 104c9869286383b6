"""A Chromium of the user's own, by its path."""

import pytest

from conftest import judged, plan_of, told
from dragstrip.browsers.generations import find_chromium
from dragstrip.browsers.registry import kind_of
from dragstrip.model.errors import InputError
from dragstrip.study.presets import find_stack, in_browser


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_it_is_held_to_a_protocol_and_says_what_it_is(track, protocol, tmp_path):
    """The test copies the default program to another path."""
    linked = tmp_path / "chrome"
    linked.symlink_to(find_chromium())
    stack = in_browser(find_stack(protocol), str(linked))
    assert stack.browser == str(find_chromium())
    assert stack.fingerprint != find_stack(protocol).fingerprint
    page = track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    kind = kind_of(stack.browser)
    settings = kind.settings(stack, track.bed.addresses, page.spoken)
    with kind.start(track.bed, plan_of(page, stack).client, protocol, settings, None) as browser:
        made = judged(track.bed, browser, plan_of(page, stack))[0]
    assert told(made) == []
    assert {r.protocol for r in made.requests} == {protocol}
    assert made.browser.startswith("HeadlessChrome/")


def test_a_stack_that_a_browser_does_not_speak_is_refused_by_name():
    with pytest.raises(InputError, match="stack 'SPDY': browser firefox does not speak spdy"):
        in_browser(find_stack("SPDY"), "firefox")
    with pytest.raises(InputError, match="unknown browser 'opera'; choose from chromium"):
        in_browser(find_stack("h2"), "opera")
