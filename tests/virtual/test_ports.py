"""The load generator in virtual time asks a page's own ports, and opens no WebSocket."""

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, RecordedSocket, Recording
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

HTML = b"""<!doctype html><title>t</title><script src="https://a.test:8443/a.js"></script>
<script>new WebSocket("wss://a.test/live")</script>"""
SCRIPT = "https://a.test:8443/a.js"


def test_loads_of_a_page_with_ports_count(tmp_path):
    kinds = ("text/html", "text/javascript")
    document, script = (
        Recorded(url=url, headers=(("content-type", kind),), wire=body)
        for url, kind, body in zip(
            ("https://a.test/", SCRIPT), kinds, (HTML, b"/* */" * 4000), strict=True
        )
    )
    recording = Recording(
        name="t",
        url=document.url,
        source="made up",
        answers=[document, script],
        sockets=(RecordedSocket(url="wss://a.test/live"),),
    )
    page = write_page(tmp_path / "t.har.zip", recording).path
    study = StudySpec(
        name="ports",
        pages=[str(page)],
        networks=[find_network("LTE")],
        stacks=loaded_by([find_stack(p) for p in ("h1", "h2", "h3")], "loader"),
        runs=1,
        seed=3,
        client=Client(),
        clock=NETWORK,
    ).resolve(tmp_path)
    make_visits(study, tmp_path / "c")
    visits = list(Capsule.open(tmp_path / "c").visits())
    assert len(visits) == 3
    for visit in visits:
        assert visit.valid, visit.reasons
        assert {s.url for s in visit.served} == {"https://a.test/", SCRIPT}
        assert visit.sockets == visit.served_sockets == ()
