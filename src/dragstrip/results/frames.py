"""A capsule as Polars frames, for notebooks: `dragstrip.open(folder).visits()`."""

from pathlib import Path

import polars as pl

from dragstrip.model.errors import InputError
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.stacks import compare
from dragstrip.results.tables.build import frames, fresh
from dragstrip.results.tables.columns import describe


class Frames:
    """The tables of a capsule, each as a frame; ``.to_pandas()`` converts one.

    >>> visits = dragstrip.open("capsules/first").visits()
    >>> visits.filter("valid").group_by("stack").agg(pl.median("plt_ms"))
    """

    def __init__(self, path: Path) -> None:
        self._capsule = Capsule.open(path)

    def visits(self) -> pl.DataFrame:
        """Return one row per visit, including those of invalid attempts (column ``valid``)."""
        return self.table("visits")

    def requests(self) -> pl.DataFrame:
        """Return one row per request as the browser saw it."""
        return self.table("requests")

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by name, read from its Parquet file, or from the journal if that is newer.
        Raises `InputError` if there is no such table."""
        if fresh(self._capsule, name):
            return pl.read_parquet(self._capsule.path / f"{name}.parquet")
        tables = frames(self._capsule.visits(), self._capsule.manifest.study)
        if name not in tables:
            raise InputError(f"no table {name!r}; choose from {', '.join(tables)}")
        return tables[name]

    def comparisons(self) -> pl.DataFrame:
        """Return one row for every two stacks, metric, page and network: ratio b / a with its
        interval."""
        made = compare(self._capsule.manifest.study, self._capsule.visits())
        return pl.DataFrame([{f: getattr(c, f) for f in c.__struct_fields__} for c in made])

    def columns(self) -> pl.DataFrame:
        """Return one row per column of every table: type, unit, meaning."""
        return describe(frames([]))
