"""The median load of one stack when some loads never ended, said in words.

With one common limit the order of all loads is known up to the limit, so the median is exact while
fewer than half of the loads failed; beyond that all one can say is that it is above the limit. The
mean over a common limit (restricted mean) exists too, but depends on the limit.

Source: Brookmeyer and Crowley, "A confidence interval for the median survival time", Biometrics 38
(1982), 29-41; with one common limit their interval is that of `dragstrip.stats.median`.
"""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.stats.median import median


class Restricted(Struct, frozen=True):
    """Times in ms. An end that is None lies beyond the limit, or is not known (`few`)."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    censored: int
    limit: float
    few: bool
    """Too few loads for an interval."""

    def words(self) -> str:
        """Such as ``median 1840 ms (1790 ms to 1901 ms; 1 of 31 loads did not end)``."""
        ends = "too few loads for an interval"
        if not self.few:
            ends = f"{self._time(self.low)} to {self._time(self.high)}"
        if self.censored:
            ends += f"; {self.censored} of {self.n} loads did not end"
        return f"median {self._time(self.value)} ({ends})"

    def _time(self, value: float | None) -> str:
        return f"above {self.limit:.0f} ms" if value is None else f"{value:.0f} ms"


def restricted_median(
    times: Sequence[float], censored: int, limit: float, level: float = 0.95
) -> Restricted:
    """`times` of the loads that ended, how many more did not, and the client's limit.

    Raises `ValueError` without loads, or if a time exceeds the limit.
    """
    if times and max(times) > limit:
        raise ValueError(f"a load took {max(times):g}, beyond the limit of {limit:g}")
    inf = float("inf")
    found = median([*times, *[inf] * censored], level)

    def below(value: float | None) -> float | None:
        return None if value is None or value == inf else value

    return Restricted(
        value=below(found.value),
        low=below(found.low),
        high=below(found.high),
        n=found.n,
        censored=censored,
        limit=limit,
        few=found.low is None,
    )
