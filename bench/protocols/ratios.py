"""Visits of studies whose stacks are compared with one of them, block by block."""

import polars as pl

BASE = "h2"


def kept(visits: pl.DataFrame) -> pl.DataFrame:
    """The valid visits; of a block that was attempted again, each stack's last."""
    last = visits.filter("valid").sort("attempt").unique(["block", "stack"], keep="last")
    return last.sort("page", "network", "stack")


def beside(mine: pl.DataFrame, stack: str, base: str = BASE) -> pl.DataFrame:
    """The stack's visits beside the base's to the same page, whose columns end in ``_base``."""
    both = mine.filter(stack=stack).join(mine.filter(stack=base), on="block", suffix="_base")
    return both.sort("page")


def ratios(mine: pl.DataFrame, stack: str, base: str = BASE) -> list[float]:
    """The stack's page loads divided by the base's, one for each block that both loaded."""
    both = beside(mine, stack, base)
    return (both["plt_ms"] / both["plt_ms_base"]).drop_nulls().to_list()
