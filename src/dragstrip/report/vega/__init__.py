"""What draws the report's figures: Vega, Vega-Lite and vega-embed as one script.

`scripts/vega.py` makes both files, so that reports need no program that knows Vega.
"""

import gzip
from pathlib import Path

_PACKED = Path(__file__).with_name("vega.js.gz")
LICENCES = Path(__file__).with_name("LICENSES.txt")
"""Licences of what the script contains; this file goes wherever the script goes."""


def script() -> str:
    """Defines `vegaEmbed` for a page, without a network."""
    return gzip.decompress(_PACKED.read_bytes()).decode()
