"""Stand-ins with a lead picture, which scripts and a wait hold back."""

import re

import pytest

from dragstrip.pages import corpus
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.standin import LeadPicture, standin
from dragstrip.pages.made.assembly import make
from dragstrip.pages.resolve import resolve

PAGE = {"name": "x", "objects": 40, "size": 600_000, "hosts": 6, "source": ""}


def led(**fields):
    return standin(
        **PAGE, lead=LeadPicture(**{"share": 0.3, "scripts": 3, "wait_ms": 700} | fields)
    )


def test_pictures_come_behind_scripts_that_request_each_other():
    made = led().objects
    pictures = [o for o in made if o.kind == "image"]
    at, way = pictures[0].parent, []
    while at is not None:
        way.append(made[at])
        at = made[at].parent
    assert [o.kind for o in way] == ["script", "script", "script", "document"]
    assert {o.parent for o in pictures} == {pictures[0].parent}
    assert [o.wait_ms for o in way] == [700, 0, 0, 0]
    assert sum(o.size for o in made) == PAGE["size"]
    assert pictures[0].size == 0.3 * PAGE["size"]


def test_the_last_script_waits_and_the_load_event_with_it():
    bodies = {a.url: a.wire for a in make(led()).answers}
    (waiting,) = [b for b in bodies.values() if b"setTimeout" in b]
    assert re.search(rb"\.open\(\).*ask\(\[.*contentDocument\.close\(\)\},700\)", waiting)
    still = make(led(wait_ms=0)).answers
    assert not any(b"setTimeout" in a.wire for a in still)


def test_a_page_without_a_lead_is_as_it_was():
    root = make(standin(**PAGE)).answers[0].wire
    assert b"order:0" not in root
    assert b"order:0" in make(led()).answers[0].wire


@pytest.mark.parametrize("scripts", [0, 99])
def test_scripts_that_a_page_cannot_have_are_refused(scripts):
    with pytest.raises(PageError, match="it can have 1 to 9"):
        led(scripts=scripts)


def test_a_site_is_not_a_page_but_its_stand_in_is(tmp_path):
    with pytest.raises(PageError, match="wolsing2019/standin-09 replaced it"):
        resolve("wolsing2019/etsy.com", tmp_path)
    with pytest.raises(PageError, match="give a file"):
        resolve("wolsing2019/nothing.example", tmp_path)
    assert corpus.known()["wolsing2019/standin-09"].like == "etsy.com"


def test_a_fitted_page_is_made_to_the_byte_each_time():
    known = corpus.known()["wolsing2019/standin-12"]
    assert corpus.recording(known) == corpus.recording(known)
