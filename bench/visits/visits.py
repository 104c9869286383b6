"""What a visit costs beyond the page load itself, and how many fit into a minute.

    uv run python bench/visits/visits.py [page, default synth:50x11.8KB] [network, bare] [runs, 20]

With every check of the verdict, HAR and journal written, first without and then with visual
metrics; then browsertime on the same page with the same browser.
"""

import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import browsertime
import msgspec
from msgspec import structs

from dragstrip.browsers.load import Load
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.journal import Journal
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.visit.frames import write_frames
from dragstrip.visit.har import har

STACKS = ("h1", "h2", "h3")
LOADS = 5


def main() -> None:
    page, network, runs = [*sys.argv[1:], *["synth:50x11.8KB", "bare", "20"][len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as folder:
        for frames in (False, True):
            # A rerun waits for a quieter host, which is not what a visit costs.
            study = structs.replace(
                StudySpec(
                    name="cost",
                    pages=[page],
                    networks=[find_network(network)],
                    stacks=[find_stack(name) for name in STACKS],
                    runs=int(runs),
                    seed=1,
                    client=Client(frames=frames),
                ).resolve(Path(folder)),
                reruns=0,
            )
            visits, ended_s = made(study, Path(folder) / f"frames-{frames}")
            print(f"{page} over {network}, {'with' if frames else 'without'} visual metrics:")
            describe(visits, ended_s)
        if why := browsertime.missing():
            print(f"browsertime: skipped, {why}")
            return
        for tuned in (True, False):
            each_s = browsertime.measured(study.pages[0], LOADS, tuned=tuned).seconds
            how = "as fast as options make it" if tuned else "defaults"
            print(f"browsertime {browsertime.VERSION}, {how}, no visual metrics: ", end="")
            print(f"{each_s:.2f} s a load, {60 / each_s:.1f} a minute")


def made(study: Study, folder: Path) -> tuple[list[Visit], list[float]]:
    """Visits as a run makes and keeps them, and when each was kept."""
    folder.mkdir()
    journal = Journal(folder / "journal.jsonl")
    visits: list[Visit] = []
    ended_s: list[float] = []

    def keep(visit: Visit, load: Load) -> None:
        archive = har(visit, load, study.page(visit.page).url, "bench")
        (folder / f"{len(visits)}.har").write_bytes(msgspec.json.encode(archive))
        if load.frames:
            write_frames(folder / f"{len(visits)}.zip", load.frames)
        journal.append(visit)
        visits.append(visit)
        ended_s.append(time.monotonic())

    run_here(Schedule(study, []), keep)
    journal.close()
    return visits, ended_s


def describe(visits: list[Visit], ended_s: list[float]) -> None:
    # The first block starts the browsers and rehearses the page.
    first = len(STACKS)
    wall_s = ended_s[-1] - ended_s[first - 1]
    print(f"  {len(visits) - first} visits in {wall_s:.1f} s, starts left out: ", end="")
    print(f"{(len(visits) - first) / wall_s * 60:.0f} a minute")
    each = statistics.median(b - a for a, b in pairwise(ended_s[first - 1 :]))
    print(f"  median of a visit {each * 1000:.0f} ms, {60 / each:.0f} a minute")
    costs = [v.overhead for v in visits if v.overhead]
    for part in structs.fields(costs[0]):
        print(f"  {part.name:22} {statistics.median(getattr(c, part.name) for c in costs):7.1f} ms")
    print(f"  {'sum, median':22} {statistics.median(c.total_ms for c in costs):7.1f} ms")
    hosts = [v.host for v in visits if v.host]
    for what, values in (
        ("browser waited, ms", [h.browser_wait_ms or 0 for h in hosts]),
        ("server waited, ms", [h.server_wait_ms or 0 for h in hosts]),
        ("steal, %", [h.steal_share * 100 for h in hosts]),
        ("late down, p99, us", [v.link.down.lateness_p99_us or 0 for v in visits if v.link]),
        ("late up, p99, us", [v.link.up.lateness_p99_us or 0 for v in visits if v.link]),
    ):
        print(f"  {what:22} median {statistics.median(values):.1f}, worst {max(values):.1f}")
    bad = [v.verdict for v in visits if not v.valid]
    print(f"  invalid visits: {len(bad)} {sorted(set(bad))}")
    for stack in STACKS:
        plt = [v.plt_ms for v in visits if v.stack == stack and v.plt_ms]
        if len(plt) > 1:
            spread = statistics.stdev(plt) / statistics.mean(plt)
            print(f"  {stack}: median PLT {statistics.median(plt):.0f} ms, CV {spread:.1%}")


if __name__ == "__main__":
    main()
