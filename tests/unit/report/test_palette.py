"""Stacks stay apart for readers who do not see all colours.

Colours are simulated as Machado, Oliveira and Fernandes (2009) do at severity 1: a matrix on linear
RGB. Distances are CIE76's, in CIELAB under D65.
"""

from itertools import combinations

import numpy as np
import pytest

from dragstrip.model.stack import Stack
from dragstrip.report.figures import palette

SIGHT = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = TO_XYZ @ np.ones(3)
APART = 27
"""Distance that the palette's docstring promises; a just noticeable difference is about 2.3."""


def seen(colour: str, sight: str) -> np.ndarray:
    """The colour in CIELAB as people with this sight see it."""
    coded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(SIGHT[sight] @ linear, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(colours: list[str], sight: str) -> float:
    return min(
        float(np.linalg.norm(seen(a, sight) - seen(b, sight))) for a, b in combinations(colours, 2)
    )


@pytest.mark.parametrize("sight", SIGHT)
def test_the_protocols_colours_stay_apart(sight):
    assert nearest(list(palette.PROTOCOL.values()), sight) >= APART
    dark = [palette.IN_THE_DARK[protocol] for protocol in palette.PROTOCOL]
    assert nearest(dark, sight) >= APART


def test_red_and_green_of_one_lightness_would_be_found():
    assert nearest(["#d62728", "#2ca02c"], "all colours") > APART
    assert nearest(["#a05a00", "#708000"], "deuteranopia") < APART


def test_stacks_of_one_protocol_differ_by_their_dashes():
    stacks = [Stack(name=f"h3-{i}", protocol="h3") for i in range(4)]
    assert len(set(palette.dashes(stacks))) == 4
