"""The pictures of a cell, drawn from made-up frames."""

import io
import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from PIL import Image

import made
import made_films
from dragstrip.model.visit import Reason, Visual
from dragstrip.report.data.outlier import apart_ms, outlier
from dragstrip.report.pictures.capsule_pictures import pictures
from dragstrip.report.pictures.film import Film
from dragstrip.report.pictures.filmstrip import filmstrip
from dragstrip.report.pictures.race import GRID_MS, PAUSE_MS, moments, race_picture
from dragstrip.visit.frames import speed_index, visual

QUICK = made_films.film((200, [40]), (400, [40, 140]), (800, [40, 140, 20]))
SLOW = made_films.film((600, [40]), (1205, [40, 140]), (1810, [40, 140, 20]))
STACKS = [made.STACKS["h2"], made.STACKS["h3"]]


def as_film(frames, stack="h2") -> Film:
    visit = made.visit(stack, plt_ms=frames[-1].time_ms + 50, visual=visual(frames))
    return Film(visit=visit, visual=visit.visual, frames=tuple(frames))


@pytest.fixture
def capsule(tmp_path: Path):
    odd = made_films.film((700, [40]), (900, [40, 140, 20]))
    return made_films.capsule(
        tmp_path / "c", {"h2": [SLOW, SLOW, SLOW, SLOW], "h3": [QUICK, QUICK, odd, QUICK]}
    )


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(str(svg).replace("<svg ", '<svg xmlns="s" ', 1))


def found(svg: str, tag: str) -> list[ET.Element]:
    return list(drawn(svg).iter(f"{{s}}{tag}"))


def test_a_cell_has_its_race_its_filmstrip_and_its_outlier(capsule):
    race, strip, odd = pictures(capsule, list(capsule.visits()))
    (name,) = race.files
    assert name == "race-made-LTE.webp"
    assert len(race.files[name]) < 3_000_000
    assert "data:image/webp;base64," in race.html
    assert {t.text for t in found(strip.html, "text") if t.get("class") == "name"} == {"h2", "h3"}
    assert "h3, block 2" in odd.caption
    assert {t.text for t in found(odd.html, "text") if t.get("class") == "name"} == {
        "typical",
        "block 2",
    }


def test_pictures_ask_nothing_of_the_page_they_stand_on(capsule):
    shown = "".join(p.html for p in pictures(capsule, list(capsule.visits())))
    targets = re.findall(r'(?:href|src)="([^"]*)"', shown)
    assert len(targets) > 10
    assert all(target.startswith(("#", "data:image/")) for target in targets)
    ids = re.findall(r' id="([^"]*)"', shown)
    assert len(set(ids)) == len(ids)
    assert {t[1:] for t in targets if t.startswith("#")} <= set(ids)


def test_without_frames_or_a_block_that_counts_there_is_nothing_to_see(capsule):
    visits = list(capsule.visits())
    busy = (Reason("overloaded", "made up"),)
    assert pictures(capsule, [structs.replace(v, reasons=busy) for v in visits]) == []
    for kept in (capsule.path / "frames").iterdir():
        kept.unlink()
    assert pictures(capsule, visits) == []


def test_a_stack_without_frames_leaves_the_others_to_be_seen(capsule):
    for kept in (capsule.path / "frames").glob("*h2*"):
        kept.unlink()
    shown = pictures(capsule, list(capsule.visits()))
    assert shown[0].title == "What a viewer saw"
    assert not any(p.files for p in shown)  # no stack races alone


def test_the_screen_shows_the_last_frame_so_far():
    seen = as_film(QUICK)
    shown = [seen.frames.index(seen.at(ms)) for ms in (-99, 0, 199, 200, 799, 800, 9999)]
    assert shown == [0, 0, 0, 1, 2, 3, 3]
    assert [seen.changed(0, 199), seen.changed(199, 200), seen.changed(800, 900)] == [
        False,
        True,
        False,
    ]
    assert dict(seen.marks) == {"FVC": 200, "VC85": 400, "LVC": 800, "PLT": 850}


def test_a_change_is_framed_in_the_span_that_holds_it_and_in_no_other():
    svg = filmstrip([as_film(QUICK)], STACKS[:1], ["h2"])
    framed = [r.get("class") for r in found(svg, "rect") if r.get("class")]
    # Spans of 100 ms up to 900: changes at 200, 400 and 800 close theirs.
    assert framed == ["same", "new", "same", "new", "same", "same", "same", "new", "same"]
    assert len(found(svg, "image")) == 4  # every other span repeats one


def test_frames_of_any_browser_make_a_strip_and_a_race():
    tall = made_films.film((300, [50]), (700, [50, 60]), kind="JPEG", size=(120, 240))
    films = [as_film(QUICK), as_film(tall, "h3")]
    assert filmstrip(films, STACKS, ["h2", "h3"])
    with Image.open(io.BytesIO(race_picture(films, STACKS, "a", "b"))) as race:
        assert race.height > 800


def test_the_race_runs_in_real_time_and_pauses_at_its_end():
    films = [as_film(SLOW), as_film(QUICK, "h3")]
    with Image.open(io.BytesIO(race_picture(films, STACKS, "made over LTE", "note"))) as race:
        lasts, screens = [], []
        for index in range(race.n_frames):  # type: ignore[attr-defined]
            race.seek(index)
            race.load()
            lasts.append(race.info["duration"])
            screens.append(race.convert("RGB"))
        assert race.info["loop"] == 0
    end = math.ceil(films[0].end_ms / GRID_MS) * GRID_MS
    assert (sum(lasts[:-1]), lasts[-1]) == (end, PAUSE_MS)
    assert min(lasts) >= GRID_MS
    starts = [sum(lasts[:i]) for i in range(len(lasts))]
    first_red = {
        left: next(t for t, s in zip(starts, screens, strict=True) if red(s, left))
        for left in (20, 436)
    }
    assert first_red == {20: 600, 436: 200}  # x of both screens


def red(image: Image.Image, left: int) -> bool:
    r, g, b = image.getpixel((left + 20, 150))
    return r > 150 and g < 60 and b < 60


@settings(max_examples=20)
@given(st.lists(st.floats(1, 60_000), min_size=1, max_size=30))
def test_no_moment_of_a_race_is_lost_and_none_comes_too_soon(times):
    film = as_film([made_films.frame(-5), *(made_films.frame(t, 40) for t in sorted(times))])
    shown = moments([film])
    assert shown[0] == 0
    assert all(b - a >= GRID_MS for a, b in pairwise(shown))
    for ms in (t for t in times if t <= film.end_ms):
        assert any(0 <= at - ms < GRID_MS + 1e-6 for at in shown)


def test_the_outlier_is_the_visit_that_looked_least_like_the_typical_one():
    def visit(block, frames):
        return made.visit("h3", block=f"made|LTE|{block}", visual=visual(frames))

    later = made_films.film((300, [40]), (500, [40, 140]), (900, [40, 140, 20]))
    odd = made_films.film((700, [40]), (900, [40, 140, 20]))
    typical, near, far = (visit(i, f) for i, f in enumerate((QUICK, later, odd)))
    chosen = outlier(typical, [typical, near, far])
    assert chosen
    assert chosen.visit is far
    assert apart_ms(typical.visual, near.visual) == pytest.approx(100)
    assert outlier(typical, [typical, near]) is None


curves = st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 1)), max_size=8).map(
    lambda points: Visual(frames=1, progress=tuple(sorted(dict([*points, (6000, 1.0)]).items())))
)


@given(curves, curves, curves)
def test_the_area_between_curves_is_a_distance(a, b, c):
    assert apart_ms(a, a) == 0
    assert apart_ms(a, b) == pytest.approx(apart_ms(b, a))
    assert apart_ms(a, c) <= apart_ms(a, b) + apart_ms(b, c) + 1e-6
    assert apart_ms(a, b) >= abs(speed_index(a.progress) - speed_index(b.progress)) - 1e-6
