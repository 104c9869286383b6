"""Holds the script that draws the report's figures: Vega, Vega-Lite and vega-embed in one file.

`scripts/vega.py` makes the script and its licences, so that a report needs no other program.
"""

import gzip
from pathlib import Path

_PACKED = Path(__file__).with_name("vega.js.gz")
LICENCES = Path(__file__).with_name("LICENSES.txt")
"""Licences of the parts of the script. This file must accompany the script."""


def script() -> str:
    """Return JavaScript that defines `vegaEmbed` for a page. The script needs no network."""
    return gzip.decompress(_PACKED.read_bytes()).decode()
