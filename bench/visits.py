"""What a visit costs beyond the page load itself, and how many fit into a minute.

uv run python bench/visits.py [page] [network] [runs]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from msgspec import structs

from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.schedule.run import Schedule, run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_network, find_stack


def main() -> None:
    page, network, runs = [*sys.argv[1:], *["demo", "LTE", "10"][len(sys.argv) - 1 :]][:3]
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as cache:
        study = make_study(
            name="cost",
            pages=[page],
            networks=[find_network(network)],
            stacks=[find_stack(name) for name in ("h1", "h2", "h3")],
            runs=int(runs),
            seed=1,
            client=Client(),
            cache=Path(cache),
        )
        started = time.monotonic()
        run(Schedule(study, []), lambda visit, _: visits.append(visit))
        wall_s = time.monotonic() - started
    print(
        f"{page} over {network}: {len(visits)} visits in {wall_s:.1f} s, start included: ", end=""
    )
    print(f"{len(visits) / wall_s * 60:.0f} a minute")
    costs = [v.overhead for v in visits if v.overhead]
    for part in structs.fields(costs[0]):
        print(f"  {part.name:22} {statistics.median(getattr(c, part.name) for c in costs):7.1f} ms")
    print(f"  {'sum, median':22} {statistics.median(c.total_ms for c in costs):7.1f} ms")
    print("lateness of the link, p99 of each visit, median and worst over visits:")
    for side in ("down", "up"):
        late = [getattr(v.link, side).lateness_p99_us or 0 for v in visits if v.link]
        print(f"  {side:5} {statistics.median(late):8.0f} us  {max(late):8.0f} us")
    steal = [v.host.steal_share for v in visits if v.host]
    print(f"steal: median {statistics.median(steal):.2%}, worst {max(steal):.2%}")
    bad = [v.verdict for v in visits if not v.valid]
    print(f"invalid visits: {len(bad)} {sorted(set(bad))}")
    for stack in ("h1", "h2", "h3"):
        plt = [v.plt_ms for v in visits if v.stack == stack and v.valid and v.plt_ms]
        if len(plt) > 1:
            spread = statistics.stdev(plt) / statistics.mean(plt)
            print(f"{stack}: median PLT {statistics.median(plt):.0f} ms, CV {spread:.1%}")


if __name__ == "__main__":
    main()
