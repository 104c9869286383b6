"""Visual metrics of frames made up for the purpose, where every answer is known."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from PIL import Image

import made
from dragstrip.browsers.screencast import Frame
from dragstrip.model.study import Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.verdict.picture import distance, like_reference, recorded
from dragstrip.visit.frames import differ, read_frames, speed_index, visual, write_frames

SIZE = (200, 100)
COLOURS = ("#c00000", "#00a000", "#0000c0", "#707070")


def picture(*widths: int, background: str = "#ffffff") -> Image.Image:
    """Boxes of full height side by side from the left, widths in px."""
    image = Image.new("RGB", SIZE, background)
    left = 0
    for width, colour in zip(widths, COLOURS, strict=False):
        image.paste(colour, (left, 0, left + width, SIZE[1]))
        left += width
    return image


def frame(time_ms: float, *widths: int, kind: str = "PNG") -> Frame:
    kept = io.BytesIO()
    picture(*widths).save(kept, kind)
    return Frame(time_ms, kept.getvalue())


def test_boxes_of_known_size_at_known_times():
    seen = visual(
        [frame(-5), frame(12), frame(200, 40), frame(400, 40, 140), frame(800, 40, 140, 20)]
    )
    assert seen
    assert (seen.fvc_ms, seen.vc85_ms, seen.lvc_ms) == (200, 400, 800)
    assert seen.progress == ((200, pytest.approx(0.2)), (400, pytest.approx(0.9)), (800, 1.0))
    assert seen.speed_index_ms == pytest.approx(200 + 200 * 0.8 + 400 * 0.1)
    assert [seen.complete_ms(s) for s in (0.1, 0.2, 0.21, 1.0)] == [200, 200, 400, 800]
    assert seen.frames == 5


def test_what_the_tab_showed_before_the_navigation_is_no_change():
    old, blank = frame(-400, 200), frame(-3)
    seen = visual([old, blank, frame(300, 100)])
    assert seen
    assert (seen.fvc_ms, seen.lvc_ms) == (300, 300)


def test_a_page_that_never_changes_has_no_times():
    seen = visual([frame(-5), frame(20), frame(700)])
    assert seen
    assert (seen.fvc_ms, seen.lvc_ms, seen.vc85_ms, seen.speed_index_ms) == (None,) * 4
    assert visual([]) is None


def test_frames_may_come_out_of_order():
    ordered = [frame(-5), frame(100, 40), frame(300, 40, 60)]
    assert visual(ordered[::-1]) == visual(ordered)


def test_a_box_that_goes_away_again_was_no_progress_for_good():
    seen = visual([frame(-1), frame(100, 50), frame(200), frame(300, 50)])
    assert seen
    assert [share for _, share in seen.progress] == [1.0, 0.0, 1.0]
    assert seen.speed_index_ms == pytest.approx(100 + 0 + 100)


def test_a_caret_is_no_change_and_a_word_is():
    caret, word = picture(), picture()
    caret.paste("black", (50, 50, 51, 51))
    word.paste("black", (50, 50, 60, 58))
    assert not differ(picture(), caret)
    assert differ(picture(), word)


def test_noise_of_the_picture_format_is_no_change():
    clean, noisy = picture(100), picture(100).point(lambda level: min(255, level + 8))
    assert not differ(clean, noisy)


@given(
    st.lists(
        st.tuples(st.floats(1, 1e5), st.floats(0, 1)),
        min_size=1,
        max_size=20,
        unique_by=lambda p: p[0],
    )
)
def test_speed_index_lies_between_first_and_last_change(points):
    curve = sorted(points)
    curve[-1] = (curve[-1][0], 1.0)
    index = speed_index(curve)
    assert curve[0][0] * (1 - 1e-9) <= index <= curve[-1][0] * (1 + 1e-9)


def test_kept_frames_come_back(tmp_path):
    frames = [frame(-5.5, kind="JPEG"), frame(123.25, 40, kind="PNG")]
    write_frames(tmp_path / "frames" / "a.zip", frames)
    assert read_frames(tmp_path / "frames" / "a.zip") == frames
    with zipfile.ZipFile(tmp_path / "frames" / "a.zip") as kept:
        assert kept.namelist() == ["times.json", "00000.jpg", "00001.png"]


def looking_like(*widths: int):
    return made.visit(visual=visual([frame(-1), frame(100, *widths)]))


def test_another_final_picture_is_a_mismatch_beyond_the_limit():
    reference = looking_like(100, 60).visual.final
    limits = Thresholds()
    assert not list(like_reference(looking_like(100, 60), reference, limits))
    assert not list(like_reference(looking_like(100, 60, 18), reference, limits))
    (reason,) = like_reference(looking_like(100, 60, 24), reference, limits)
    assert reason.code == "picture-mismatch"
    assert "12%" in reason.detail or "13%" in reason.detail


def test_the_recordings_own_picture_is_the_reference_at_the_same_viewport(tmp_path):
    teal = io.BytesIO()
    Image.new("RGB", (640, 360), "teal").save(teal, "PNG")
    page = write_page(
        tmp_path / "p.har.zip",
        Recording(
            name="p",
            url="https://a.test/",
            source="made",
            answers=[Recorded(url="https://a.test/", method="GET")],
            screenshot=teal.getvalue(),
        ),
    )
    seen = visual([frame(-1), Frame(1.0, teal.getvalue())])
    assert seen
    assert distance(recorded(page, Client(viewport=(640, 360))), seen.final) == 0
    assert recorded(page, Client(viewport=(320, 360))) == b""


def test_without_reference_picture_or_load_there_is_no_mismatch():
    reference = looking_like(10).visual.final
    other = looking_like(200)
    assert list(like_reference(other, reference, Thresholds()))
    assert not list(like_reference(other, b"", Thresholds()))
    assert not list(like_reference(made.visit(), reference, Thresholds()))
    failed = structs.replace(other, outcome="timeout")
    assert not list(like_reference(failed, reference, Thresholds()))


def test_pictures_of_unequal_size_differ_wholly():
    small = io.BytesIO()
    Image.new("RGB", (8, 8)).save(small, "PNG")
    assert distance(small.getvalue(), looking_like(10).visual.final) == 1.0
