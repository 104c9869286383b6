"""Describes how servers treated the same page differently: content coding, Early Hints."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dragstrip.model.study import Study


def ways(study: Study, requests: pl.LazyFrame) -> Iterator[str]:
    """Yield a sentence for each treatment in which the stacks differ. `requests` is the capsule's
    table of requests."""
    answered = requests.filter(pl.col("protocol").is_not_null() & (pl.col("error") == ""))
    by_stack = {
        row["stack"]: row
        for row in answered.group_by("stack")
        .agg(
            coded=(pl.col("coding") != "").mean(),
            codings=pl.col("coding").filter(pl.col("coding") != "").unique().sort(),
            hinted=pl.col("hinted").mean(),
        )
        .collect(engine="streaming")
        .iter_rows(named=True)
    }
    stacks = [by_stack[s.name] for s in study.visited if s.name in by_stack]
    for what, said in (
        ("Servers coded answers differently", [_coded(row) for row in stacks]),
        ("Servers named answers ahead by 103 (Early Hints)", [_hinted(row) for row in stacks]),
    ):
        if len(set(said)) > 1:
            by_name = (f"{r['stack']} {w}" for r, w in zip(stacks, said, strict=True))
            yield f"{what}: {', '.join(by_name)}."


def _coded(row: Mapping[str, Any]) -> str:
    return f"{row['coded']:.0%} ({' or '.join(row['codings'])})" if row["codings"] else "none"


def _hinted(row: Mapping[str, Any]) -> str:
    return f"{row['hinted']:.0%}"
