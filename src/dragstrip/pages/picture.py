"""Measures the difference between two pictures of a page."""

import io

import numpy as np
from msgspec import Struct
from PIL import Image
from scipy.ndimage import gaussian_filter

SCALE = 4
"""Factor by which both pictures are reduced first. What remains is about what a person sees at
arm's length. Differences of anti-aliasing at glyph edges disappear."""
CHANGED = 16
"""Level, of 255, by which a channel of a pixel must differ for the pixel to count as different."""
_SIGMA = 1.5


class Distance(Struct, frozen=True, kw_only=True):
    differing: float
    """Share of pixels that differ."""
    ssim: float
    """Mean structural similarity of the luminance, 1 for equal pictures (Wang et al. 2004)."""


def distance(a: bytes, b: bytes) -> Distance:
    """Return the difference of two PNGs. If their sizes differ, the missing parts count as
    white."""
    one, other = Image.open(io.BytesIO(a)), Image.open(io.BytesIO(b))
    size = max(one.width, other.width), max(one.height, other.height)
    left, right = _shrunk(one, size), _shrunk(other, size)
    apart = np.abs(np.asarray(left, dtype=float) - np.asarray(right, dtype=float)).max(axis=2)
    return Distance(
        differing=float((apart > CHANGED).mean()), ssim=_ssim(left.convert("L"), right.convert("L"))
    )


def _shrunk(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    canvas = Image.new("RGB", size, "white")
    canvas.paste(picture.convert("RGB"))
    return canvas.resize((-(-size[0] // SCALE), -(-size[1] // SCALE)), Image.Resampling.BOX)


def _ssim(left: Image.Image, right: Image.Image) -> float:
    """Return the mean structural similarity: equation 13 with the paper's constants and Gaussian
    window (Z. Wang et al., Image Quality Assessment: From Error Visibility to Structural
    Similarity, IEEE TIP 13(4), 2004)."""
    x, y = np.asarray(left, dtype=float), np.asarray(right, dtype=float)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.asarray(gaussian_filter(values, _SIGMA, truncate=3.5))

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mx, my = mean(x), mean(y)
    vx, vy, cov = mean(x * x) - mx * mx, mean(y * y) - my * my, mean(x * y) - mx * my
    index = (2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
    return float(index.mean())
