"""The fit of a stand-in: what a page has to hold so that its SpeedIndex is the published one.

Three numbers tell nearly all of a page's SpeedIndex over a network without loss: what it waits
whatever the network is, how many round trips it makes, and how many bytes must come before it is
seen (`Three`). A page has a part for each: the wait of a script, scripts that request each other,
and its size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares

Values = NDArray[np.float64]


class Link(NamedTuple):
    rate_mbps: float
    rtt_ms: float

    @property
    def network(self) -> str:
        """Return the network as the published testbed had it: the same rate both ways, and a queue
        of one round trip at that rate."""
        rate = f"{self.rate_mbps:g}mbit"
        return f"{rate}/{rate}/{self.rtt_ms / 2:g}ms/0%/{self.rtt_ms:g}ms"


LINKS = (Link(2, 50), Link(10, 10), Link(10, 50), Link(50, 50))
"""The published networks without loss."""


class Three(NamedTuple):
    """SpeedIndex = wait_ms + trips * rtt_ms + kilobytes * 8 / rate_mbps."""

    wait_ms: float
    trips: float
    kilobytes: float

    def over(self, links: Sequence[Link]) -> Values:
        return _terms(links) @ np.array(self)


@dataclass(frozen=True)
class Made:
    """Parameters of a stand-in, see `dragstrip.pages.generators.standin`."""

    objects: int
    size: int
    hosts: int
    share: float
    scripts: int
    wait_ms: int

    @property
    def most_scripts(self) -> int:
        """Return the number of scripts of such a page; each can stand before the next."""
        return int(SCRIPTS * (self.objects - 1))


SHARE = 0.3
"""Share of the bytes in the lead picture. SpeedIndex does not tell what is below it, so this is
our choice; so are the numbers of objects and hosts by size, see `first_guess`."""
SCRIPTS = 0.24
SEEN = 0.78
"""Kilobytes of `Three` by size, at first."""
LONGEST_S = 20.0
LEAST_MS = 50.0
"""No page is seen sooner."""
LEAST, MOST = 60_000, 9_500_000
"""Bytes. wolsing2019 says that its sites are much smaller than 10 MB."""
SHOWN_LATE = 0.81
"""Part of what is seen that waits for the lead picture, at first."""
TRIPS, TRIPS_EACH = 5.0, 2.25
"""Round trips of a page without scripts before its picture, and of each such script, at first."""
_ALIKE = np.array([1.0, 0.7, 1.2])
"""How much the logarithms of `Three` differ from site to site: standard deviations of the prior, by
which three networks tell three numbers."""
_NOISE = 0.08
"""Standard deviation of the logarithm of a SpeedIndex about `Three`."""


def _terms(links: Sequence[Link]) -> Values:
    return np.array([[1.0, link.rtt_ms, 8 / link.rate_mbps] for link in links])


def published() -> dict[str, dict[Link, float]]:
    """Return the median SpeedIndex in ms by site and network, over networks without loss."""
    file = resources.files("dragstrip_papers") / "wolsing2019" / "speed-index.csv"
    rows = pl.read_csv(file.read_bytes()).filter(pl.col("loss") == 0).iter_rows(named=True)
    found: dict[str, dict[Link, float]] = {}
    for row in rows:
        link = Link(row["rate_mbps"], row["rtt_ms"])
        found.setdefault(row["site"], {})[link] = row["speed_index_ms"]
    return found


def three(links: Sequence[Link], times: Values, typical: Three | None = None) -> Three:
    """Fit by least squares of logarithms. With `typical`, numbers are drawn towards it as strongly
    as the spread of sites says."""
    terms, logs = _terms(links), np.log(times)

    def apart(found: Values) -> Values:
        errors = (np.log(terms @ np.exp(found)) - logs) / _NOISE
        if typical is None:
            return np.asarray(errors)
        return np.concatenate([errors, (found - np.log(np.array(typical))) / _ALIKE])

    starts = ((300.0, 5.0, 100.0), (50.0, 3.0, 500.0), (1000.0, 2.0, 1000.0))
    fits = [least_squares(apart, np.log(np.array(s)), bounds=(-4, 12)) for s in starts]
    return Three(*np.exp(min(fits, key=lambda fit: float(fit.cost)).x))


def typical(sites: Sequence[Three]) -> Three:
    """Return the median site."""
    return Three(*np.median(np.array(sites), axis=0))


def first_guess(wanted: Three, *, alone: bool) -> Made:
    """Guess a page. `alone`: the paper says that one server has it all."""
    size = int(np.clip(wanted.kilobytes * 1000 / SEEN, LEAST, MOST))
    weight = size / 1.9e6
    objects = int(np.clip(round(75 * weight**0.72), 8, 260))
    hosts = 1 if alone else int(np.clip(round(16 * weight**0.75), 2, objects // 3))
    made = Made(objects=objects, size=size, hosts=hosts, share=SHARE, scripts=1, wait_ms=0)
    scripts = 1 + round((wanted.trips - TRIPS) / TRIPS_EACH)
    return waiting(made, scripts, wanted.wait_ms / SHOWN_LATE)


def waiting(made: Made, scripts: int, wait_ms: float) -> Made:
    """Return the page with these scripts and this wait, as far as it can have them."""
    scripts = min(max(scripts, 1), made.most_scripts)
    return replace(made, scripts=scripts, wait_ms=max(0, round(wait_ms)))


@dataclass(frozen=True)
class Surface:
    """How a page's SpeedIndex follows its parameters, near a page that was visited."""

    late: float
    """SpeedIndex by wait."""
    trips_each: float
    """Round trips by script."""

    def over(
        self, seen: "Seen", links: Sequence[Link], growth: float, wait_ms: float, scripts: int
    ) -> Values:
        """Return the SpeedIndex in ms of a page of `growth` times the size, from that of `seen`."""
        more = Three(
            wait_ms=self.late * (wait_ms - seen.made.wait_ms),
            trips=self.trips_each * (scripts - seen.made.scripts),
            kilobytes=seen.three.kilobytes * (growth - 1),
        )
        times = np.array([seen.times[link] for link in links])
        return np.asarray(np.maximum(times + more.over(links), LEAST_MS))


@dataclass(frozen=True)
class Seen:
    """A page, and its SpeedIndex by network in ms."""

    made: Made
    times: Mapping[Link, float]

    @property
    def whole(self) -> bool:
        """Return whether the page was visited over every network."""
        return len(self.times) == len(LINKS)

    @cached_property
    def three(self) -> Three:
        links = list(self.times)
        return three(links, np.array(list(self.times.values())))


def next_guess(surface: Surface, seen: Seen, links: Sequence[Link], wanted: Values) -> Made:
    """Return the page whose SpeedIndex is nearest to the wanted one: least squares of logarithms
    over the networks. Objects and hosts stay."""
    size, most = seen.made.size, seen.made.most_scripts
    edges = np.log([LEAST / size, MOST / size])
    best, found = np.inf, seen.made
    for scripts in range(1, most + 1):

        def errors(at: Values, scripts: int = scripts) -> Values:
            times = surface.over(seen, links, float(np.exp(at[0])), at[1] * 1000, scripts)
            return np.append(np.log(times / wanted), 0.03 * at[0])

        within = ([edges[0] - 1e-6, -1e-6], [edges[1] + 1e-6, LONGEST_S])
        for start in (seen.made.wait_ms / 1000, 0.5):
            fit = least_squares(errors, [0.0, start], bounds=within)
            if fit.cost < best - 1e-6:
                best = fit.cost
                grown = int(np.clip(round(size * np.exp(fit.x[0])), LEAST, MOST))
                found = waiting(replace(seen.made, size=grown), scripts, fit.x[1] * 1000)
    return found
