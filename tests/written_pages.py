"""Every kind of page that dragstrip writes, from made visits."""

from collections.abc import Callable, Mapping
from pathlib import Path

import simulate
from msgspec import structs

import made
import made_capsule
import made_films
from dragstrip.audit.claims import Claims
from dragstrip.audit.judge import AuditRow, summarise
from dragstrip.conduct.conformance import ConformanceResult
from dragstrip.league.disciplines import Discipline
from dragstrip.league.entries import Absent, Entry
from dragstrip.league.page import write
from dragstrip.league.plan import LeagueRequest
from dragstrip.league.result import result
from dragstrip.league.run import DisciplineRun, League
from dragstrip.model.clock import NETWORK
from dragstrip.model.graph import Graph, Node, Wait
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.data.one_page import one_page
from dragstrip.report.figures.graph import draw_graph
from dragstrip.report.figures.page_view import draw
from dragstrip.report.site.audit import page as audit_page
from dragstrip.report.site.one_page import html as one_page_html
from dragstrip.report.site.site import build
from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import scan
from dragstrip.study.bridge import bridge_study
from dragstrip.study.controls import controls_of
from dragstrip.study.presets import find_stack

HOSTILE = "/<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"


def report(folder: Path, of: Study) -> Path:
    """The first page of the report of simulated visits."""
    with Capsule.create(folder, simulate.manifest(of)) as capsule:
        for visit in simulate.visits(of):
            capsule.append(visit)
    return build(Capsule.open(folder))


def _parts(index: Path) -> list[Path]:
    """One page of each kind of a report."""
    names = ("index", "by-ttfb_ms", "verdicts", "replay", "testbed", "parameters")
    own = [path for n in names if (path := index.parent / f"{n}.html").exists()]
    return own + [min((index.parent / kind).iterdir()) for kind in ("cells", "visits")]


def _race(folder: Path) -> Path:
    return report(folder, simulate.study(pages=(simulate.page("demo", 14, 2),), runs=16))


def _study(folder: Path) -> Path:
    pages = tuple(simulate.page(name, 14, 2) for name in ("demo", "shop"))
    of = simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=6)
    return report(folder, structs.replace(of, controls=controls_of(of.stacks)))


def _many(folder: Path) -> Path:
    pages = tuple(simulate.page(f"site{i}", 4, 1) for i in range(13))
    of = simulate.study(pages=pages, networks=("LTE", "DA2GC"), runs=5)
    firefox = Stack(name="h3-firefox", protocol="h3", browser="firefox")
    return report(folder, structs.replace(of, stacks=(*of.stacks, firefox)))


def _sampled(folder: Path) -> Path:
    """Each cell has its own page and network."""
    pages = tuple(simulate.page(f"site{i}", 4, 1) for i in range(13))
    links = tuple(
        structs.replace(Network.parse(f"{5 + i}mbit/1mbit/20ms/0%/200ms"), name=f"link{i}")
        for i in range(13)
    )
    of = simulate.study(pages=pages, runs=5)
    cells = tuple((p.name, n.name, "first") for p, n in zip(pages, links, strict=True))
    return report(folder, structs.replace(of, networks=links, only=cells, sampled=True))


def _pictures(folder: Path) -> Path:
    quick = made_films.film((200, [40]), (800, [40, 140, 20]))
    slow = made_films.film((600, [40]), (1800, [40, 140, 20]))
    return build(made_films.capsule(folder, {"h2": [slow] * 2, "h3": [quick] * 2}))


def _lossy(folder: Path) -> Path:
    clean = Network.parse("10mbit/10mbit/10ms/0%/200ms")
    lossy = Network.parse("10mbit/10mbit/10ms/2%/200ms")
    networks = (structs.replace(clean, name="clean"), structs.replace(lossy, name="lossy"))
    of = simulate.study(pages=(simulate.page("demo", 6, 1),), runs=5)
    return report(folder, structs.replace(of, networks=networks))


def _why(folder: Path) -> Path:
    base = simulate.study(pages=(simulate.page("demo", 6, 1),), runs=1)
    return report(
        folder,
        bridge_study(base, find_stack("h2"), find_stack("QUIC"), runs=5, factors=("window",)),
    )


def made_league(folder: Path, lost: Mapping[str, int] | None = None) -> League:
    """A league of two servers in pages, whose loss could not run. `lost` has the packets that the
    queue dropped in each visit, by stack."""

    def drop(visit: Visit) -> Visit:
        down = made.direction(dropped_queue=(lost or {}).get(visit.stack, 0))
        return structs.replace(visit, link=structs.replace(visit.link, down=down))

    of = structs.replace(made_capsule.study(), runs=5)
    loads = {"h2": [1200.0, 1210, 1190, 1202, 1201], "h3": [1000.0] * 5}
    made_capsule.capsule(folder / "pages", loads, of=of, each=drop)
    point = ConformanceResult(protocol="h3", what="resumes", outcome="no", said="it did <not>")
    pages = Discipline(
        name="pages",
        title="Pages",
        what="Loads.",
        pages=("demo",),
        networks=("LTE",),
        metric="plt_ms",
        runs=5,
    )
    ran = DisciplineRun(
        discipline=pages,
        capsule=folder / "pages",
        study=of,
        left_out=(Absent(server="slow", why="it is <bad>"),),
    )
    bad = DisciplineRun(
        discipline=structs.replace(pages, name="loss", title="Loss"),
        capsule=folder,
        study=None,
        said="no <link>",
    )
    return League(
        asked=LeagueRequest(scale="small"),
        out=folder,
        entries=tuple(Entry(stack=find_stack(n), version="1") for n in ("h2", "h3", "nginx-h3")),
        absent=(Absent(server="quic-go", why="not installed"),),
        ran=(ran, bad),
        conformance={"h3": (point,)},
        spent_s=7200,
        clock=NETWORK,
    )


def _league(folder: Path) -> Path:
    return write(result(made_league(folder)), folder)


def audit_row() -> AuditRow:
    """A capture that took less time than its bytes need."""
    return AuditRow(
        name=HOSTILE,
        title="",
        tool="made",
        claims=Claims(down_mbps=1, protocol="quic", rtt_ms=100),
        load_ms=900,
        wire_bytes=200_000,
        least_load_ms=1600,
        impossible=True,
        judged=4,
        protocol_answers={"h2": 3, "quic": 1},
        protocol_bytes={"h2": 150_000, "quic": 50_000},
        connect_min_ms=40,
        connect_median_ms=50,
        fast_connects=True,
        cached=0,
        failed=0,
        unread=0,
        aborted=False,
    )


def _audit() -> str:
    row = audit_row()
    return audit_page("audit", summarise([row]), [row])


GRAPH = Graph(
    nodes=(
        Node(url="https://a.test/", kind="Document", priority="VeryHigh", found="start"),
        Node(
            url="https://a.test/a.css",
            kind="Stylesheet",
            found="markup",
            initiator=0,
            waits=(Wait(0, 500),),
            delay_ms=120.0,
        ),
        Node(url="https://a.test/b.png", kind="Image", found="style", waits=(Wait(1),)),
    ),
    learned=True,
    source="2 visits in a browser",
)


def _one_page(folder: Path) -> list[Path]:
    capsule = Capsule.open(_race(folder).parents[1])
    study = capsule.manifest.study
    file = folder / "page.html"
    page = one_page(capsule.manifest, scan(capsule, "visits"))
    file.write_text(one_page_html(study, page), encoding="utf-8")
    return [file]


def _drawn(folder: Path) -> list[Path]:
    own = simulate.page("demo", 14, 2)
    texts = {"audit": _audit(), "page": draw(own, ()), "graph": draw_graph(own, GRAPH)}
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return sorted(folder.iterdir())


WRITTEN: Mapping[str, Callable[[Path], list[Path]]] = {
    "race": lambda folder: _parts(_race(folder)),
    "study": lambda folder: _parts(_study(folder)),
    "many cells": lambda folder: [_many(folder)],
    "sampled cells": lambda folder: [_sampled(folder)],
    "pictures": lambda folder: [_pictures(folder)],
    "spread under loss": lambda folder: [_lossy(folder)],
    "why": lambda folder: [_why(folder)],
    "league": lambda folder: [_league(folder)],
    "audit, page and graph": _drawn,
    "one page": _one_page,
}
"""Functions that write the pages of a kind into a folder."""
