"""Synthetic uploads: what a page sends, what its file promises, what the load generator does."""

import pytest

from dragstrip.model.graph import Wait
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.synth import parse_spec, synth
from dragstrip.pages.graph.store import graph_of


def page(tmp_path, spec):
    return write_page(tmp_path / "s.har.zip", synth(spec))


def test_uploads_follow_the_objects(tmp_path):
    made = page(tmp_path, "2x10KB:mix@2+3x5MB:post")
    assert made.name == "synth-2x10KB-mix+3x5MB-post-2hosts"
    *objects, first, second, third = made.resources
    assert [r.method for r in objects] == ["GET"] * 3
    for upload in (first, second, third):
        assert (upload.method, upload.upload_bytes) == ("POST", 5_000_000)
        assert upload.host == "www.synth.test"
        assert upload.body_bytes < 100
    html = synth("2x10KB:mix@2+3x5MB:post").answers[0].wire.decode()
    assert all(f'["{u.url}",5000000]' in html for u in (first, second, third))
    assert "let left = 2;" in html


def test_an_upload_can_be_alone(tmp_path):
    made = page(tmp_path, "1x5MB:post")
    assert [(r.method, r.upload_bytes) for r in made.resources] == [("GET", 0), ("POST", 5_000_000)]
    assert "let left = 0;" in synth("1x5MB:post").answers[0].wire.decode()


def test_pages_without_uploads_have_no_script(tmp_path):
    assert b"<script" not in synth("2x10KB").answers[0].wire
    assert not any(r.upload_bytes for r in page(tmp_path, "2x10KB").resources)


def test_sizes_of_uploads_may_be_a_range():
    spec = parse_spec("1x10KB+2x1MB-4MB:post")
    assert (spec.count, spec.uploads.count) == (1, 2)
    assert (spec.uploads.low, spec.uploads.high) == (1_000_000, 4_000_000)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("+1x5MB:post", r"synth:\+1x5MB:post: name the objects"),
        ("12x10KB+1x5MB", "after the + come uploads"),
        ("12x10KB+1x5MB:put", "after the + come uploads"),
        ("1x5MB:post+12x10KB", "after the + come uploads"),
        ("1x5MB:put", "uploads post, not put"),
        ("0x5MB:post", "between 1 and"),
        ("1x0B:post", "smallest object, an upload"),
        ("1x2000MB:post", "at most 1000 MB"),
        ("1x5MB:post@2", "post"),
    ],
)
def test_what_cannot_be_made_is_said(spec, complaint):
    with pytest.raises(PageError, match=complaint.replace("+ come", r"\+ come")):
        synth(spec)


def test_the_load_generator_uploads_once_all_else_has_ended(tmp_path):
    graph = graph_of(page(tmp_path, "2x10KB+1x5MB:post"))
    *_, upload = graph.nodes
    assert (upload.method, upload.upload_bytes, upload.found) == ("POST", 5_000_000, "script")
    assert upload.waits == (Wait(0), Wait(1), Wait(2))
    assert upload.holds_load
    assert upload.credentials
    (_, alone) = graph_of(page(tmp_path, "1x5MB:post")).nodes
    assert (alone.waits, alone.holds_load) == ((Wait(0),), True)
