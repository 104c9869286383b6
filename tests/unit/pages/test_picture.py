"""The distance of two pictures: nothing for the same, more for more."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from dragstrip.pages.picture import distance


def png(*boxes, size=(400, 320)):
    picture = Image.new("RGB", size, "white")
    for box in boxes:
        ImageDraw.Draw(picture).rectangle(box, fill="navy")
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def test_the_same_picture_has_no_distance():
    apart = distance(png((0, 0, 99, 99)), png((0, 0, 99, 99)))
    assert (apart.differing, apart.ssim) == (0, pytest.approx(1))


def test_a_quarter_of_the_picture_is_a_quarter():
    apart = distance(png(), png((0, 0, 199, 159)))
    assert apart.differing == pytest.approx(0.25)
    assert apart.ssim < 0.8
    assert distance(png((0, 0, 199, 159)), png()) == apart


def test_what_one_picture_lacks_is_white():
    assert distance(png(size=(400, 160)), png()).differing == 0
    assert distance(png(size=(400, 160)), png((0, 160, 399, 319))).differing == pytest.approx(0.5)


def test_more_noise_is_less_alike():
    draw = np.random.default_rng(1)
    base = draw.integers(0, 255, (320, 400, 3))

    def noisy(strength):
        values = np.clip(base + draw.normal(0, strength, base.shape), 0, 255).astype("uint8")
        file = io.BytesIO()
        Image.fromarray(values).save(file, "PNG")
        return file.getvalue()

    likeness = [distance(noisy(0), noisy(s)).ssim for s in (0, 20, 60)]
    assert likeness == sorted(likeness, reverse=True)
    assert likeness[0] > 0.99
