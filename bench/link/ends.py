"""Both ends of our link: answers JSON lines with figures. `ours.py` starts it in the testbed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import figures

figures.calibrate_probe.serve(
    dict(zip(("client", "origin"), sys.argv[1:], strict=True)), *figures.WORKS.values()
)
