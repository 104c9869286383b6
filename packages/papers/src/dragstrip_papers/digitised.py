"""Reads the numbers that were read off papers' figures: KEY/digitised.csv, in our names.

megyesi2016  figure, page, network, stack, share, seconds: points of the distributions of page load
             time in Megyesi, Krämer and Molnár, ICC 2016, figures 4a to 5c. `share` of the loads
             took at most `seconds`.
literature   figure, page, network, percent: Kakhki et al., IMC 2017, figures 6a, 6b and 8a to 8f.
             `percent` of the mean over TCP by which QUIC's is lower, read from colours to ± 8
             points; null for a tile that the paper leaves blank; 100 or -100 also for
             values beyond.
"""

from importlib import resources

import polars as pl


def digitised(key: str) -> pl.DataFrame:
    """Return the numbers read off a paper's figures. Raises `FileNotFoundError` for a paper without
    such a file."""
    file = resources.files("dragstrip_papers") / key / "digitised.csv"
    return pl.read_csv(file.read_bytes())
