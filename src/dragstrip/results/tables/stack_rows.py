"""Makes a table with one row per stack: its properties, and its differences from the first stack
besides the protocol."""

import polars as pl

from dragstrip.model.inequality import inequalities
from dragstrip.model.study import Study


def stack_table(study: Study) -> pl.DataFrame:
    """Return one row per stack and control, in the order of the study."""
    first = study.visited[0]
    rows = [
        {
            "stack": stack.name,
            "protocol": stack.protocol,
            "fingerprint": stack.fingerprint,
            "description": stack.describe(),
            "also_differs": "; ".join(one.words for one in inequalities(first, stack)),
        }
        for stack in study.visited
    ]
    return pl.DataFrame(rows)
