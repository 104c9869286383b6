"""qlog of a capsule: what the drafts' own schema says of it."""

import json
import re

import jsonschema
import pytest

import documented
import made
from cddl import json_schema
from dragstrip.model.errors import InputError
from dragstrip.results.tables.export import export
from made_capsule import capsule

DRAFT = (documented.DOCS.parent / "tests" / "data" / "qlog-draft.cddl").read_text()
TCP = (documented.DOCS / "reference" / "qlog-tcp.cddl").read_text()
EVENTS = {
    "QUIC": [
        ("transport:packet_sent", {"header": {"packet_type": "1RTT", "packet_number": 7}}),
        (
            "transport:packet_sent",
            {"header": {"packet_type": "initial", "packet_number": 0, "length": 1200}},
        ),
        ("transport:packet_received", {"header": {"packet_type": "handshake", "packet_number": 1}}),
        (
            "recovery:packet_lost",
            {
                "header": {"packet_type": "0RTT", "packet_number": 2, "length": 99},
                "trigger": "time_threshold",
            },
        ),
        (
            "recovery:metrics_updated",
            {"min_rtt": 74.2, "pto_count": 0, "congestion_window": 14520, "pacing_rate": 9000},
        ),
    ],
    "TCP": [("recovery:metrics_updated", {"congestion_window": 1, "smoothed_rtt": 0.5})],
}


def schema(root):
    return jsonschema.Draft202012Validator(json_schema(DRAFT + TCP, root))


def kept(folder, visit):
    """A file as `dragstrip.visit.qlog.keep_qlog` writes it."""
    traces = [
        {
            "title": f"a.test, connection {number}",
            "vantage_point": {"name": "dragstrip-origin", "type": "server"},
            "common_fields": {
                "group_id": str(number),
                "protocol_type": [kind, "HTTP"],
                "time_format": "relative",
                "reference_time": visit.started_us / 1000,
            },
            "events": [
                {"time": at * 0.1 - 0.1, "name": name, "data": data}
                for at, (name, data) in enumerate(events)
            ],
        }
        for number, (kind, events) in enumerate(EVENTS.items(), 8)
    ]
    folder.mkdir(exist_ok=True)
    whole = {"qlog_version": "0.3", "qlog_format": "JSON", "title": visit.id, "traces": traces}
    (folder / f"{visit.file_name}.qlog").write_text(json.dumps(whole))


@pytest.fixture
def found(tmp_path):
    made_ = capsule(tmp_path / "c", {"h2": [1000.0], "h3": [900.0]})
    kept(tmp_path / "c" / "qlog", next(made_.visits()))
    return made_


def records(path):
    content = path.read_text()
    assert content[0] == "\x1e"
    assert content[-1] == "\n"
    return [json.loads(record) for record in content.split("\x1e")[1:]]


def data_type(name):
    """The drafts' type of an event's data: ``quic:packet_sent`` is QUICPacketSent."""
    namespace, _, event = name.partition(":")
    return namespace.upper() + "".join(part.capitalize() for part in event.split("_"))


def test_each_connection_is_a_file_that_the_draft_accepts(found, tmp_path):
    files = export(found, tmp_path / "out", "qlog")
    stem = next(found.visits()).file_name
    assert [f.name for f in files] == [f"{stem}-8.sqlog", f"{stem}-9.sqlog"]
    for path, events in zip(files, EVENTS.values(), strict=True):
        head, *rest = records(path)
        schema("QlogFileSeq").validate(head)
        assert len(rest) == len(events)
        for record in rest:
            schema("Event").validate(record)
            schema(data_type(record["name"])).validate(record["data"])


def test_the_form_is_named_in_the_first_bytes_and_time_0_is_the_navigation(found, tmp_path):
    file, _ = export(found, tmp_path / "out", "qlog")
    assert '"serialization_format":"application/qlog+json-seq"' in file.read_text()[:256]
    head, first, *_ = records(file)
    assert head["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-13"]
    epoch = head["trace"]["common_fields"]["reference_time"]["epoch"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", epoch)
    assert first["time"] == -0.1


def test_the_length_of_a_packet_is_not_that_of_its_header(found, tmp_path):
    file, _ = export(found, tmp_path / "out", "qlog")
    _, _, second, _, lost, _ = records(file)
    assert second["data"]["raw"] == {"length": 1200}
    assert "length" not in second["data"]["header"]
    assert lost["data"].keys() == {"header", "trigger"}


def test_tcp_has_its_own_namespace(found, tmp_path):
    _, file = export(found, tmp_path / "out", "qlog")
    head, event = records(file)
    assert event["name"] == "tcp:recovery_metrics_updated"
    assert head["trace"]["event_schemas"][0].split("#")[0] in TCP


def test_the_older_version_is_what_was_kept(found, tmp_path):
    (file,) = export(found, tmp_path / "out", "qlog", "0.3")
    stem = next(found.visits()).file_name
    assert file.read_bytes() == (found.path / "qlog" / f"{stem}.qlog").read_bytes()


def test_without_qlog_the_error_says_how_to_get_one(tmp_path):
    with pytest.raises(InputError, match="race with --qlog"):
        export(capsule(tmp_path / "c", {"h2": [1.0]}), tmp_path / "out", "qlog")
    assert made.visit("h2")


@pytest.mark.parametrize(
    ("root", "wrong"),
    [
        ("QUICPacketSent", {"header": {"packet_type": "second", "packet_number": 1}}),
        ("QUICPacketSent", {"header": {"packet_type": "1RTT", "packet_number": -1}}),
        ("QUICPacketSent", {"header": {"packet_type": "1RTT", "length": 1 << 16}}),
        ("QUICPacketSent", {"header": {"packet_type": "1RTT"}, "size": 3}),
        ("QUICPacketSent", {}),
        ("QUICRecoveryMetricsUpdated", {"min_rtt": "74"}),
        ("QUICPacketLost", {"trigger": "bad luck"}),
        ("Event", {"name": "quic:packet_sent", "data": {}}),
        ("Event", {"time": 1, "name": "quic:packet_sent", "data": {"nothing": "known"}}),
        ("QlogFileSeq", {"file_schema": "a", "serialization_format": "b", "trace": {}}),
        ("TCPRecoveryMetricsUpdated", {"congestion_window": 1.5}),
    ],
)
def test_the_schema_refuses_what_the_draft_does(root, wrong):
    assert not schema(root).is_valid(wrong)


def test_cddl_that_cannot_be_read_is_an_error():
    for broken in ("A = {", "A == text", "A = %"):
        with pytest.raises((SyntaxError, IndexError)):
            json_schema(broken, "A")
