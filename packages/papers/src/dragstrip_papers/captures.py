"""Audits captures that a paper published: evidence about the paper itself."""

from pathlib import Path

import polars as pl

from dragstrip.audit.capture import find, read
from dragstrip.audit.claims import NAME_PATTERNS, Claims, compile_pattern, from_name
from dragstrip.audit.judge import judge


def audited(folder: Path) -> pl.DataFrame:
    """Audit the captures in a folder. Return one row per capture, with the columns `name` and
    `impossible`. Raises `InputError` for a folder without HARs."""
    patterns = [compile_pattern(p) for p in NAME_PATTERNS]
    rows = [
        judge(capture, from_name(capture.name, patterns) or Claims())
        for file in find([folder])
        for capture in read(file)
    ]
    return pl.DataFrame([{"name": r.name, "impossible": r.impossible} for r in rows])
