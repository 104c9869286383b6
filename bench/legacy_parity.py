"""Server or protocol? node-spdy's codec and our origin in the same old browser, Chromium 53.

    uv run python bench/legacy_parity.py [blocks, default 15]

HTTP/2 is what this browser speaks with both servers (our origin always offers it). One object over
a connection that has carried its document, from request to last byte, on 25/5 Mbit/s with 24 ms;
and a page of 51 objects and 590 KB on LTE, page load time. Printed are medians of valid visits, and
of a block's ratios node-spdy to origin with their quartiles: the gap to hold beside a figure that
sets SPDY against our origin.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.schedule.run import Schedule, run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_network, find_stack

FAST = structs.replace(Network.parse("25mbit/5mbit/12ms/0%/200ms"), name="25/5 Mbit/s, 24 ms")
OBJECTS = ("1x10KB", "1x100KB", "1x1MB")
PAGE = "50x11.8KB"
PROTOCOLS = ("h2",)
STACKS = [f"{p}-chromium53{server}" for p in PROTOCOLS for server in ("", "-origin")]


def main() -> None:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    visits = [*visit_all(OBJECTS, FAST, blocks), *visit_all((PAGE,), find_network("LTE"), blocks)]
    valid = [v for v in visits if v.valid]
    print(f"{len(visits)} visits, {len(valid)} valid; ms, medians")
    print("page             protocol  node-spdy    origin   ratio (quartiles)     blocks")
    for page in dict.fromkeys(v.page for v in visits):
        for protocol in PROTOCOLS:
            print(row(page, protocol, valid))


def visit_all(specs: tuple[str, ...], network: Network, blocks: int) -> list[Visit]:
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as cache:
        study = make_study(
            name="legacy parity",
            pages=[f"synth:{spec}" for spec in specs],
            networks=[network],
            stacks=[find_stack(name) for name in STACKS],
            runs=blocks,
            seed=1,
            client=Client(),
            cache=Path(cache),
        )
        run(Schedule(structs.replace(study, reruns=0), []), lambda visit, _: visits.append(visit))
    return visits


def row(page: str, protocol: str, visits: list[Visit]) -> str:
    took: dict[str, dict[str, float]] = {"": {}, "-origin": {}}
    for visit in visits:
        server = visit.stack.removeprefix(f"{protocol}-chromium53")
        if visit.page == page and server in took and (ms := measured(visit)) is not None:
            took[server][visit.block] = ms
    node, origin = took[""], took["-origin"]
    ratios = [node[block] / origin[block] for block in node if block in origin]
    if len(ratios) < 2:
        return f"{page:16} {protocol:8}  fewer than two blocks in which both were valid"
    low, mid, high = statistics.quantiles(ratios, n=4)
    return (
        f"{page:16} {protocol:8} {statistics.median(node.values()):9.1f} "
        f"{statistics.median(origin.values()):9.1f}   {mid:.3f} ({low:.3f} to {high:.3f})  "
        f"{len(ratios):4}"
    )


def measured(visit: Visit) -> float | None:
    """Of the one object beside the document, or of the whole page."""
    if visit.page.endswith(PAGE):
        return visit.plt_ms
    objects = [r for r in visit.requests if r.url.endswith(".png")]
    sent, end = (objects[0].send_start_ms, objects[0].end_ms) if objects else (None, None)
    return end - sent if sent is not None and end is not None else None


if __name__ == "__main__":
    main()
