"""Fits the stand-ins of wolsing2019 to the SpeedIndex that VGPrio published.

    uv run python packages/papers/bench/standins.py FOLDER [--rounds 2] [--jobs 2] [--write]

The first round makes 38 pages and visits each over four networks in virtual time. The next corrects
those that are far off. FOLDER keeps every visit, so the same command resumes.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from math import inf
from pathlib import Path
from time import monotonic

import numpy as np
import polars as pl
from msgspec import structs
from scipy.stats import spearmanr
from standins_fit import (
    LINKS,
    SHOWN_LATE,
    TRIPS_EACH,
    Link,
    Made,
    Seen,
    Surface,
    first_guess,
    next_guess,
    published,
    three,
)

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client
from dragstrip.pages import corpus
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.structure import Structure
from dragstrip.pages.generators.standin import LeadPicture, standin
from dragstrip.pages.made.assembly import make
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.cache import cache_folder

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "src" / "dragstrip" / "pages" / "corpus.toml"
LOADS = ROOT / "docs" / "results" / "stand-ins.csv"
NEAR = 0.15
"""Error of a page, as a logarithm, that no further round corrects."""
ALONE = ("gnu.org", "wikipedia.org")
"""Sites that the paper says come from one server."""
SURFACE = Surface(late=SHOWN_LATE, trips_each=TRIPS_EACH)
Pages = Mapping[str, Made]


def names(sites: Sequence[str]) -> dict[str, str]:
    """Return the name of each site's stand-in."""
    return {site: f"standin-{i:02}" for i, site in enumerate(sorted(sites), start=1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=1, help="rounds to make (default: 1)")
    parser.add_argument("--jobs", default="2")
    parser.add_argument(
        "--minutes", type=float, default=inf, help="time to visit (default: no end)"
    )
    parser.add_argument("--write", action="store_true", help="write the best pages and their loads")
    asked = parser.parse_args()
    until = monotonic() + asked.minutes * 60
    wanted = published()
    pages = {site: guessed(site, times) for site, times in wanted.items()}
    best: dict[str, Seen] = {}
    for number in range(1, asked.rounds + 1):
        folder = asked.folder / f"round-{number}"
        kept = folder / "pages.json"
        if kept.exists():
            pages = {site: Made(**made) for site, made in json.loads(kept.read_text()).items()}
        else:
            folder.mkdir(parents=True)
            kept.write_text(json.dumps({s: asdict(m) for s, m in pages.items()}, indent=1))
        for site, times in visited(folder, pages, asked.jobs, until).items():
            now, before = Seen(pages[site], times), best.get(site)
            if not before or (now.whole and apart(now, wanted[site]) < apart(before, wanted[site])):
                best[site] = now
        far = [s for s, seen in best.items() if seen.whole and apart(seen, wanted[s]) > NEAR]
        print(f"round {number}: {judged(wanted, best)}; {len(far)} to correct", file=sys.stderr)
        if not far:
            break
        pages = {
            site: next_guess(
                SURFACE, best[site], LINKS, np.array([wanted[site][link] for link in LINKS])
            )
            for site in far
        }
    if asked.write:
        write(wanted, best)


def guessed(site: str, times: Mapping[Link, float]) -> Made:
    found = three(LINKS, np.array([times[link] for link in LINKS]))
    return first_guess(found, alone=site in ALONE)


def apart(seen: Seen, wanted: Mapping[Link, float]) -> float:
    """Return the root mean square of logarithms of ratios over the networks that were visited."""
    errors = [np.log(time / wanted[link]) for link, time in seen.times.items()]
    return float(np.sqrt(np.mean(np.square(errors))))


def write(wanted: Mapping[str, Mapping[Link, float]], best: Mapping[str, Seen]) -> None:
    """Write the parameters into the corpus, the loads into docs/results/stand-ins.csv."""
    called = names(list(wanted))
    lines = []
    for site in (page.like for page in corpus.known().values() if page.like):  # their order stays
        name, made = called[site], best[site].made
        lead = f"share = {made.share}, scripts = {made.scripts}, wait_ms = {made.wait_ms}"
        lines.append(
            f'{name} = {{ like = "{site}", objects = {made.objects}, size = {made.size}, '
            f"hosts = {made.hosts}, lead = {{ {lead} }} }}\n"
        )
    before, head, after = CORPUS.read_text().partition("[wolsing2019.standin]\n")
    rest = after[after.index("\n[") :]
    CORPUS.write_text(before + head + "".join(lines) + rest)
    rows = [
        {
            "page": called[site],
            "site": site,
            "rate_mbps": link.rate_mbps,
            "rtt_ms": link.rtt_ms,
            "published_ms": wanted[site][link],
            "here_ms": round(seen.times[link], 1),
        }
        for site, seen in sorted(best.items())
        for link in LINKS
        if link in seen.times
    ]
    pl.DataFrame(rows).write_csv(LOADS)


def visited(folder: Path, pages: Pages, jobs: str, until: float) -> dict[str, dict[Link, float]]:
    """Visit what is missing, as long as there is time. Return SpeedIndex in ms by site and
    network."""
    every = names(list(published()))
    called = {site: every[site] for site in pages}
    for site, made in pages.items():
        file = folder / f"{called[site]}.har.zip"
        if not file.exists():
            write_page(file, make(structure(called[site], made)))
    links = {link.network: link for link in LINKS}
    spec = StudySpec(
        name="standins",
        pages=[str(folder / f"{name}.har.zip") for name in called.values()],
        networks=[find_network(name) for name in links],
        stacks=[find_stack(name) for name in ("h3", "h2")],
        runs=1,
        seed=2025,
        client=Client(frames=True, timeout_s=300),
        clock=NETWORK,
    )
    study = spec.resolve(cache_folder("pages"))
    alone = structs.replace(study, stacks=study.stacks[:1])  # no race
    capsule = folder / "capsule"
    options = RunOptions(virtual=True, computing=False, jobs=jobs)
    with suppress(TimeUp):
        make_visits(alone, capsule, options, until=until)
    sites = {f"wolsing2019-{name}": site for site, name in called.items()}
    found: dict[str, dict[Link, float]] = {site: {} for site in pages}
    for visit in Capsule.open(capsule).visits():
        if visit.valid and visit.visual and visit.visual.speed_index_ms:
            found[sites[visit.page]][links[visit.network]] = visit.visual.speed_index_ms
    return found


def structure(name: str, made: Made) -> Structure:
    return standin(
        f"wolsing2019-{name}",
        objects=made.objects,
        size=made.size,
        hosts=made.hosts,
        source="made for the fit of stand-ins",
        lead=LeadPicture(share=made.share, scripts=made.scripts, wait_ms=made.wait_ms),
    )


def judged(wanted: Mapping[str, Mapping[Link, float]], best: Mapping[str, Seen]) -> str:
    both = [(wanted[s][link], seen.times[link]) for s, seen in best.items() for link in seen.times]
    theirs, ours = np.array(both).T
    within = int((np.abs(np.log(ours / theirs)) < np.log(2)).sum())
    return (
        f"median ratio {np.median(ours / theirs):.3f}, "
        f"Spearman {spearmanr(theirs, ours).statistic:.3f}, "
        f"{within} of {len(both)} within a factor of two"
    )


if __name__ == "__main__":
    main()
