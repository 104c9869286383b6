"""How often are two modes found in samples that have one?

    uv run python bench/stats/modes.py

Draws samples of several shapes and sizes with a seed, and prints the share of each in which
`dragstrip.stats.modes` finds two modes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dragstrip.stats.modes import ENOUGH, modes

SIZES = (ENOUGH, 10, 12, 16, 20, 31)
SAMPLES = 20_000
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "exponential": lambda rng, n: rng.exponential(1, n),
    "Student's t, 3 degrees": lambda rng, n: rng.standard_t(3, n),
}


def main() -> None:
    rng = np.random.default_rng(1)
    print("| shape | " + " | ".join(f"{n} loads" for n in SIZES) + " |")
    print("|---" * (1 + len(SIZES)) + "|")
    for shape, draw in SHAPES.items():
        shares = [f"{found(rng, draw, n) * 100:.2f} %" for n in SIZES]
        print(f"| {shape} | " + " | ".join(shares) + " |", flush=True)


def found(rng: np.random.Generator, draw: Draw, n: int) -> float:
    """Share of samples in which two modes are found. Their spread is as large as can be beside the
    smallest value, so that no gap is too small to count."""
    samples = (draw(rng, n) for _ in range(SAMPLES))
    return sum(modes((s - s.min() + 1e-3).tolist()) is not None for s in samples) / SAMPLES


if __name__ == "__main__":
    main()
