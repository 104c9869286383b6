"""The load generator as a client: what it gets, how its answer is used, and what it is not mixed
with."""

import msgspec
import pytest
from msgspec import structs

from dragstrip.browsers.loader.client import stack_settings
from dragstrip.browsers.loader.headers import headers
from dragstrip.browsers.loader.wire import (
    Error,
    LoaderAnswer,
    LoaderConnection,
    LoaderRequest,
    page_of,
    read,
)
from dragstrip.model.browsers import LOADER
from dragstrip.model.errors import InputError
from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.report.data.beside import surroundings
from dragstrip.results.compare.capsules import compare_capsules
from dragstrip.study.clients import NO_FALSE_START, check_clients, loaded_by, study_by
from dragstrip.study.file import read_study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.servers.site import port_of
from dragstrip.verdict.request_checks import is_lost
from made_capsule import capsule, study

URL = "https://a.test/"
GRAPH = Graph(
    nodes=(
        Node(url="https://a.test/old", kind="Document", priority="VeryHigh", found="start"),
        Node(
            url=URL,
            kind="Document",
            priority="VeryHigh",
            found="redirect",
            initiator=0,
            waits=(Wait(0),),
        ),
        Node(
            url=f"{URL}a.js",
            kind="Script",
            priority="High",
            found="markup",
            initiator=1,
            waits=(Wait(1, 700),),
        ),
        Node(
            url=f"{URL}late",
            kind="Ping",
            found="load",
            initiator=2,
            waits=(Wait(LOAD),),
            holds_load=False,
        ),
        Node(
            url="https://b.test/a.woff2",
            kind="Font",
            priority="VeryHigh",
            found="script",
            initiator=2,
            waits=(Wait(1, 900), Wait(2)),
            delay_ms=4.0,
            timer=True,
            holds_load=False,
        ),
    ),
    learned=True,
    source="two visits",
    parsed=(Wait(1), Wait(2)),
    body=(Wait(1, 800), Wait(2)),
    load_delay_ms=1.5,
)


def test_the_program_gets_the_whole_graph():
    page = page_of(GRAPH)
    start, document, script, beacon, font = page["resources"]
    assert "after" not in start
    assert document["after"] == {"resource": 0, "at": "complete"}
    assert script["after"] == {"resource": 1, "at": {"wire": 700}}
    assert (script["kind"], script["priority"], script["load_event"]) == ("script", "medium", True)
    assert (beacon["after"], beacon["load_event"]) == ("load_event", False)
    assert font["after"] == {"resource": 1, "at": {"wire": 900}}
    assert (font["also"], font["delay_ms"], font["load_event"]) == ([2], 4.0, False)
    assert (script["timer"], font["timer"]) == (False, True)
    assert page["load_event"] == {"delay_ms": 1.5}
    assert page["tight"] == {"until": [2], "limit": 2}


def test_headers_name_the_client_and_the_referrer():
    top, font = dict(headers(GRAPH, 0)), dict(headers(GRAPH, 4))
    assert top["sec-fetch-mode"] == "navigate"
    assert top["sec-fetch-site"] == "none"
    assert "referer" not in top
    assert font["referer"] == "https://a.test/"
    assert font["origin"] == "https://a.test"
    assert (font["sec-fetch-site"], font["sec-fetch-mode"]) == ("cross-site", "cors")
    assert dict(headers(GRAPH, 2))["referer"] == URL


def asked(resource: int, start: int, end: int | None, **more) -> LoaderRequest:
    return LoaderRequest(
        **{
            "resource": resource,
            "url": GRAPH.nodes[resource].url,
            "discovered_us": start,
            "sent_us": start + 100,
            "first_byte_us": start + 1000,
            "end_us": end,
            "status": 200,
            "protocol": "h2",
            "connection": 1,
            "headers": (("content-type", "text/html; charset=utf-8"),),
            "wire_bytes": 1000,
            "decoded_bytes": 3000,
            "digest": "0" * 16,
            "cached": False,
            "error": None,
        }
        | more
    )


OPENED = LoaderConnection(
    id=1,
    address="10.64.1.1",
    port=443,
    connect_start_us=0,
    connect_end_us=40,
    tls_start_us=40,
    tls_end_us=90,
    ready_us=90,
)


def answer(
    *requests: LoaderRequest, load_us: int | None = 9000, ended: str = "quiet"
) -> LoaderAnswer:
    return LoaderAnswer(
        start_us=1_700_000_000_000_000,
        load_event_us=load_us,
        ended=ended,
        requests=requests,
        connections=(OPENED,),
    )


def test_an_answer_becomes_a_load():
    made = answer(asked(0, 0, 2000), asked(1, 2000, 5000), asked(2, 3100, 6000))
    load = read(made, GRAPH, 0.0, "digest")
    assert load.outcome == "loaded"
    assert load.navigation.loadEventEnd == 9.0
    assert load.navigation.domContentLoadedEventEnd == 6.0
    assert load.navigation.responseStart == 3.0
    assert load.fcp_ms is None
    first, second, third = (e.request for e in load.exchanges)
    assert (first.reused, second.reused, third.reused) == (False, True, True)
    assert (first.connect_start_ms, first.connect_end_ms) == (0.0, 0.09)
    assert second.connect_start_ms is None
    assert (first.mime, first.remote_port, third.initiator_type) == ("text/html", 443, "parser")


@pytest.mark.parametrize(("ended", "outcome"), [("time", "timeout"), ("document", "failed")])
def test_a_load_that_does_not_end_is_an_outcome(ended, outcome):
    gone = asked(0, 0, None, status=None, protocol=None, error=Error("connect", "refused"))
    load = read(answer(gone, load_us=None, ended=ended), GRAPH, 0.0, "")
    assert (load.outcome, load.error) == (outcome, "connect: refused")
    assert load.exchanges[0].request.protocol is None
    assert load.exchanges[0].request.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Error("connect", "refused"), "connect: refused"),
        (
            Error("timeout", "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT"),
            "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT",
        ),
    ],
)
def test_an_error_that_chromium_has_a_name_for_keeps_it(error, said):
    """The verdict recognises losses by this name."""
    lost = asked(0, 0, None, status=None, protocol=None, error=error)
    load = read(answer(lost, load_us=None, ended="document"), GRAPH, 0.0, "")
    assert load.exchanges[0].request.error == said
    assert is_lost(said) == said.startswith("net::")


def test_what_it_learns_of_a_stack():
    fields = msgspec.json.decode(stack_settings(find_stack("QUIC"), {"a.test": "10.64.1.1"})[0])
    assert fields["protocol"] == "h3"
    assert fields["tls"] == {
        "version": "1.3",
        "resumption": True,
        "early_data": True,
        "post_quantum": True,
    }
    assert fields["hosts"] == {"a.test": "10.64.1.1:443"}
    nginx = find_stack("nginx-h3")
    place = f"10.64.1.1:{port_of(nginx.serving)}"
    assert port_of(nginx.serving) != 443
    fields = msgspec.json.decode(stack_settings(nginx, {"a.test": "10.64.1.1"})[0])
    assert fields["hosts"] == {"a.test": place}
    mixed = msgspec.json.decode(
        stack_settings(find_stack("as-recorded"), {"a.test": "1.1.1.1"}, {"a.test": "h1"})[0]
    )
    assert mixed["protocol"]["a.test"] == "h1"


def test_tls_1_2_is_played_by_tls_1_3_which_takes_as_many_round_trips():
    """Chromium sends its first request before TLS 1.2 is done; the load generator could not."""
    stack = find_stack("TCP-TLS1.2")
    (played,) = loaded_by([stack], "loader")
    assert (played.name, played.tls) == ("TCP-TLS1.2", "1.3")
    assert NO_FALSE_START in played.source
    for repeat in (False, True):
        assert played.connect_rtts(repeat=repeat) == stack.connect_rtts(repeat=repeat)
    assert NO_FALSE_START not in loaded_by([find_stack("h2")], "loader")[0].source
    assert loaded_by([stack], "browser") == (stack,)


def test_another_browsers_stack_is_not_predicted():
    made = loaded_by([find_stack("h2")], "loader")
    assert made[0].browser == LOADER
    assert made[0].fingerprint != find_stack("h2").fingerprint
    with pytest.raises(InputError, match="names browser firefox"):
        loaded_by([find_stack("h2-firefox")], "loader")
    with pytest.raises(InputError, match="'curl' is unknown"):
        loaded_by([find_stack("h2")], "curl")


def test_browsers_and_the_load_generator_do_not_share_a_study():
    with pytest.raises(InputError, match="make two studies"):
        check_clients([Stack(name="a", protocol="h2", browser=LOADER), find_stack("h3")])
    check_clients([find_stack("h2"), find_stack("h2-firefox")])


def test_the_load_generator_is_not_asked_for_a_handshake_without_false_start():
    asked = Stack(name="a", protocol="h2", tls="1.2", browser=LOADER)
    with pytest.raises(InputError, match=r"'a': the load generator has no False Start.*tls 1\.2"):
        check_clients([asked])
    check_clients([structs.replace(asked, tls="1.3")])


STUDY = """
pages = ["synth:2x1KB"]
networks = ["LTE"]
stacks = ["h2", "h3"]
runs = 1
"""


@pytest.mark.parametrize("said", ['client = "loader"', '[client]\nprogram = "loader"\n'])
def test_a_study_file_asks_for_it(tmp_path, said):
    path = tmp_path / "s.toml"
    path.write_text(STUDY + said)
    study = read_study(path, tmp_path)
    assert study.predicted
    assert {s.browser for s in study.visited} == {LOADER}


def test_it_has_no_cache(tmp_path):
    with pytest.raises(InputError, match="has no cache"):
        StudySpec(
            name="s",
            pages=["synth:2x1KB"],
            networks=[find_network("LTE")],
            stacks=loaded_by([find_stack("h2"), find_stack("h3")], "loader"),
            connections=("repeat-cached",),
            runs=1,
            seed=0,
            client=Client(),
        ).resolve(tmp_path)


def test_a_comparison_does_not_mix_them_unasked(tmp_path):
    base = study()
    times = {"h2": [100.0, 101.0], "h3": [90.0, 92.0]}
    browser = capsule(tmp_path / "browser", times)
    ours = capsule(tmp_path / "loader", times, of=study_by(base, "loader"))
    with pytest.raises(InputError, match="--across-clients"):
        compare_capsules(browser, ours)
    assert compare_capsules(browser, ours, across_clients=True).rows
    assert "Predictions" in compare_capsules(ours, ours).notes[0]


def test_every_answer_says_that_it_is_a_prediction():
    said = surroundings(loaded_by([find_stack("h2"), find_stack("h3")], "loader"))
    assert "the load generator made these loads, not a browser" in said[0]
    assert not surroundings([find_stack("h2"), find_stack("h3")])
