"""Early Hints of our own origin, in a browser and in the load generator."""

from pathlib import Path

import pytest
from msgspec import structs

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.stack import EarlyHints, Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

URL = "https://a.test/"
STYLE = f"{URL}a.css"
HTML = b'<!doctype html><title>t</title><link rel="stylesheet" href="/a.css"><p>Hello'
LASTING = ("cache-control", "max-age=3600")


def page(folder: Path, lasting: bool = True) -> Path:
    """A page whose document takes 600 ms and was recorded after a 103 answer."""
    document = Recorded(
        url=URL,
        headers=(("content-type", "text/html"),),
        wire=HTML,
        think_ms=600.0,
        early_hints=("</a.css>; rel=preload; as=style",),
    )
    headers = (("content-type", "text/css"), *([LASTING] if lasting else []))
    style = Recorded(url=STYLE, headers=headers, wire=b"p { color: red }" * 2000)
    recording = Recording(name="t", url=URL, source="made up", answers=[document, style])
    return write_page(folder / "t.har.zip", recording).path


def hinting(stack: Stack, named: EarlyHints) -> Stack:
    return structs.replace(stack, name=f"{stack.name}-{named}", early_hints=named)


def visits(folder: Path, client: str, *, lasting: bool = True) -> dict[str, Visit]:
    plain = [find_stack("h2"), find_stack("h3")]
    stacks = [*plain, *(hinting(s, n) for s in plain for n in ("link", "blocking"))]
    study: Study = StudySpec(
        name="hints",
        pages=[str(page(folder, lasting))],
        networks=[find_network("LTE")],
        stacks=loaded_by(stacks, client) if client else stacks,
        runs=1,
        seed=3,
        think_time=True,
        client=Client(),
        clock=NETWORK,
    ).resolve(folder)
    make_visits(study, folder / "c")
    return {v.stack: v for v in Capsule.open(folder / "c").visits()}


@pytest.mark.parametrize("client", ["", "loader"])
def test_what_is_hinted_at_is_there_when_the_document_is(tmp_path, client):
    seen = visits(tmp_path, client)
    assert {name: v.reasons for name, v in seen.items() if not v.valid} == {}
    for plain in ("h2", "h3"):
        assert not any(r.hinted for r in seen[plain].requests)
        for named in ("link", "blocking"):
            visit = seen[f"{plain}-{named}"]
            assert {r.url for r in visit.requests if r.hinted} == {STYLE}
            assert visit.plt_ms < seen[plain].plt_ms
            (document,) = [s for s in visit.served if s.url == URL]
            (style,) = [s for s in visit.served if s.url == STYLE]
            assert style.t_us < document.end_us


@pytest.mark.parametrize("client", ["", "loader"])
def test_what_no_cache_may_keep_is_fetched_twice(tmp_path, client):
    seen = visits(tmp_path, client, lasting=False)
    assert {name: v.reasons for name, v in seen.items() if not v.valid} == {}
    for name, visit in seen.items():
        asked = [s for s in visit.served if s.url == STYLE]
        assert len(asked) == (1 if name in ("h2", "h3") else 2), name
