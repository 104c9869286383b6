"""Pages that are not what they should be, served by the real origin to a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

import made
from dragstrip.model.page import Page
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded
from dragstrip.pages.generators.synth import synth
from dragstrip.verdict.block_checks import against

SPEC = "3x5KB"


def forged(folder: Path, forge: Callable[[Recorded], Recorded]) -> Page:
    """A page with the same URLs as SPEC, each answer but the document's changed."""
    recording = synth(SPEC)
    document, *rest = recording.answers
    answers = (document, *map(forge, rest))
    return write_page(folder / "forged.har.zip", structs.replace(recording, answers=answers))


def another(answer: Recorded) -> Recorded:
    """The answer with one byte changed, at the same length."""
    at = len(answer.wire) // 2
    changed = bytes([answer.wire[at] ^ 1])
    return structs.replace(answer, wire=answer.wire[:at] + changed + answer.wire[at + 1 :])


LIES = {
    "one byte": lambda answer: structs.replace(answer, wire=b"x"),
    "status 500": lambda answer: structs.replace(answer, status=500),
    "another recording": another,
}


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
@pytest.mark.parametrize("lie", LIES)
def test_what_is_served_is_not_the_page(track, codes, tmp_path, stack, lie):
    page = track.page(SPEC)
    track.bed.origin.serve(forged(tmp_path, LIES[lie]))
    visit = track.visit(stack, page, serve=False)
    assert visit.outcome == "loaded"
    assert codes(visit) == {"content-mismatch"}
    details = [r.detail for r in visit.reasons]
    assert [d for d in details if "according to the origin" in d]
    assert [d for d in details if "according to the browser" in d]


def test_one_stack_of_a_block_is_sent_other_bodies(track, tmp_path):
    page = track.page(SPEC)
    honest = track.visit("h1", page), track.visit("h2", page)
    assert against(made.study(), honest) == {}
    track.bed.origin.serve(forged(tmp_path, another))
    other = track.visit("h3", page, serve=False)
    said = against(made.study(), [*honest, other])
    assert {stack: {r.code for r in found} for stack, found in said.items()} == {
        stack: {"content-mismatch"} for stack in ("h1", "h2", "h3")
    }


def test_only_the_document_of_a_page_is_loaded(track, codes):
    page = track.page(SPEC)
    every = tuple(range(len(page.resources)))
    whole = track.visit("h2", page, rehearsed=every)
    assert whole.reasons == ()
    without = track.browser("h2", "--blink-settings=imagesEnabled=false")
    alone = track.visit("h2", page, browser=without, rehearsed=every)
    assert alone.outcome == "loaded"
    assert len(alone.served) == 1
    assert codes(alone) == {"content-mismatch"}
    assert "3 of 4 objects" in alone.reasons[0].detail
    said = against(made.study(), [structs.replace(whole, stack="h1"), alone])
    assert {stack: {r.code for r in found} for stack, found in said.items()} == {
        "h2": {"content-mismatch"}
    }


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_an_image_that_is_no_picture_is_no_lie(track, tmp_path, stack):
    text = b" ".join(b"word %d" % n for n in range(60_000))

    def no_picture(answer: Recorded) -> Recorded:
        return structs.replace(answer, wire=text, headers=(("content-type", "text/html"),))

    visit = track.visit(stack, forged(tmp_path, no_picture))
    assert (visit.outcome, visit.reasons) == ("loaded", ())
    images = [r for r in visit.requests if r.resource_type == "Image"]
    assert [(r.body_bytes, r.error) for r in images] == [(None, "")] * 3
    assert all(0 < r.wire_bytes < len(text) / 2 for r in images)


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_browser_and_origin_say_of_each_object_what_the_page_says(track, stack):
    page = track.page("12x4KB:mix", hosts=2)
    visit = track.visit(stack, page)
    sizes = {r.url: r.decoded_bytes for r in page.resources}
    digests = {r.url: r.digest for r in page.resources}
    assert {r.url: r.body_bytes for r in visit.requests} == sizes
    assert {s.url: s.digest for s in visit.served} == digests
    read = {r.url: r.digest for r in visit.requests if r.digest}
    assert len(read) == 8
    assert read.items() <= digests.items()
    assert {f"{r.remote_ip}:{r.remote_port}" for r in visit.requests} == {
        place for host, place in visit.addresses.items() if host in page.hosts
    }
    assert visit.unchecked == ("that the page requested all its objects: no rehearsal loaded",)
