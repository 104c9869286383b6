"""The link's further stages on real packets: marks, copies, records, hosts and played traces."""

import csv
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from test_link_forwarding import ORIGIN_IP, PLAIN, Bed, received, running_bed

from dragstrip.model.aqm import EXAMPLES, Aqm, DualPi2
from dragstrip.model.effects import COUNTS, EFFECTS, STAGES, Direction, Effect
from dragstrip.model.network import Network
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import Link

IP_TOS = socket.IP_TOS
IP_RECVTOS = 13
ECT_1, ECT_0, CE = 1, 2, 3
AQM = {
    "kind": "codel", "target_ms": 1, "interval_ms": 5, "ecn": True, "flows": 1024,
    "quantum_bytes": 1514,
}  # fmt: skip


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory):
    with running_bed(tmp_path_factory.mktemp("link")) as made:
        yield made


def configure(bed: Bed, *, record: Path | None = None, **sides: dict[str, Any]) -> dict[str, Any]:
    up, down = (PLAIN | sides.get(side, {}) for side in ("up", "down"))
    told: dict[str, Any] = bed.link.ask(
        "configure", dict[str, Any], seed=3, up=up, down=down, record=record and str(record)
    )
    return told["config"]


def settled(bed: Bed, side: str, sent: int) -> dict[str, Any]:
    """The report once the link has received everything that was sent and holds no packet any
    more."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        report: dict[str, Any] = bed.link.ask("stats", dict[str, Any])[side]
        if not report["queued"] and report["packets_in"] >= sent:
            drops = sum(value for name, value in report.items() if name.startswith("dropped_"))
            came = report["packets_in"] + report["duplicated"]
            assert came == report["packets_out"] + drops + report["send_failures"]
            return report
    raise AssertionError(report)


def test_codel_marks_ect_packets_and_their_checksum_stays_right(bed: Bed) -> None:
    configure(bed, down={"rate_mbps": 10, "aqm": AQM})
    client, origin = bed.udp()
    with client, origin:
        origin.setsockopt(socket.IPPROTO_IP, IP_TOS, ECT_0)
        client.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        for _ in range(300):
            origin.send(bytes(1000))
        report = settled(bed, "down", sent=300)
        # The kernel drops a packet whose header checksum is wrong: all must arrive.
        tos = [client.recvmsg(2000, 64)[1][0][2][0] for _ in range(report["packets_out"])]
    assert report["packets_out"] == 300
    assert report["dropped_aqm"] == 0
    assert tos.count(CE) == report["marked"] > 3
    assert set(tos) == {ECT_0, CE}


def test_codel_drops_what_does_not_understand_ecn(bed: Bed) -> None:
    configure(bed, down={"rate_mbps": 10, "aqm": AQM})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(300):
            origin.send(bytes(1000))
        report = settled(bed, "down", sent=300)
        received(client, report["packets_out"])
    assert report["marked"] == 0
    assert report["dropped_aqm"] > 3


def test_copies_arrive_whole(bed: Bed) -> None:
    configure(bed, up={"duplicate": 0.5, "delay_ms": 1})
    client, origin = bed.udp()
    with client, origin:
        messages = [bytes([i]) * 100 for i in range(200)]
        for message in messages:
            client.send(message)
        report = settled(bed, "up", sent=200)
        arrived = received(origin, report["packets_out"])
    assert 60 < report["duplicated"] < 140
    assert len(arrived) == 200 + report["duplicated"]
    assert sorted(set(arrived)) == messages


def test_the_answer_to_configure_names_the_order_of_stages(bed: Bed) -> None:
    config = configure(bed, up={"stages": ["queue", "loss", "delay"]})
    assert config["up"]["stages"] == ["queue", "loss", "delay"]
    assert config["down"]["stages"] == list(STAGES["down"])
    assert configure(bed)["up"]["stages"] == list(STAGES["up"])
    assert config["accounting"] == "l3"


@pytest.mark.parametrize("aqm", EXAMPLES, ids=lambda aqm: aqm.kind)
def test_the_link_takes_every_kind_of_aqm(bed: Bed, aqm: Aqm) -> None:
    asked = Direction(rate_mbps=10, aqm=aqm)
    Link(bed.link, {}).configure(Network(name="made", down=asked, up=asked), seed=1)


def test_dualpi2_keeps_scalable_senders_apart_and_marks_them(bed: Bed) -> None:
    asked = Direction(rate_mbps=10, aqm=DualPi2())
    Link(bed.link, {}).configure(Network(name="made", down=asked, up=asked), seed=1)
    client, origin = bed.udp()
    with client, origin:
        client.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        for code in (ECT_0, ECT_1) * 150:
            origin.setsockopt(socket.IPPROTO_IP, IP_TOS, code)
            origin.send(bytes(1000))
        report = settled(bed, "down", sent=300)
        tos = [client.recvmsg(2000, 64)[1][0][2][0] for _ in range(report["packets_out"])]
    classic, l4s = report["queues"]
    assert (classic["queue"], l4s["queue"]) == ("classic", "l4s")
    assert classic["packets"] + classic["dropped"] == l4s["packets"] + l4s["dropped"] == 150
    assert (report["ect"], report["ect1"], report["ce"]) == (len(tos), l4s["packets"], 0)
    assert tos.count(CE) == report["marked"] == classic["marked"] + l4s["marked"]
    assert l4s["marked"] > 100
    assert l4s["wait_p99_ms"] < classic["wait_p99_ms"]


@pytest.mark.parametrize("aqm", EXAMPLES, ids=lambda aqm: aqm.kind)
def test_a_change_keeps_what_waits_under_every_kind_of_aqm(bed: Bed, aqm: Aqm) -> None:
    link = Link(bed.link, {})
    slow = Network(name="slow", down=Direction(rate_mbps=1, aqm=aqm), up=Direction())
    fast = Network(name="fast", down=Direction(rate_mbps=100, aqm=DualPi2()), up=Direction())
    link.configure(slow, seed=1)
    client, origin = bed.udp()
    with client, origin:
        # 100 ms of packets wait under each kind of management.
        for _ in range(12):
            origin.send(bytes(1000))
        link.change(slow, 1, outages={"down"})
        link.change(fast, 1)
        report = settled(bed, "down", sent=12)
        assert [len(client.recv(2000)) for _ in range(12)] == [1000] * 12
    assert report["packets_out"] == 12
    classic, l4s = report["queues"]
    assert l4s["packets"] == 0
    # The packet on the line had its turn before DualPI2 came.
    assert classic["packets"] in (12, 11)


def test_a_change_keeps_the_order_of_stages(bed: Bed) -> None:
    link = Link(bed.link, {})
    plain = Direction(rate_mbps=1, delay_ms=1)
    link.configure(Network(name="one", down=plain, up=plain), seed=1)
    turned = Direction(rate_mbps=1, delay_ms=1, stages=("delay", "queue"))
    with pytest.raises(TestbedError, match="keeps the order of its stages"):
        link.change(Network(name="other", down=turned, up=plain), 1)
    named = Direction(rate_mbps=1, delay_ms=1, stages=("queue", "delay"))
    link.change(Network(name="same", down=named, up=plain), 1)


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: "+".join(effect.example))
def test_the_link_takes_and_counts_every_effect(bed: Bed, effect: Effect) -> None:
    asked = Direction(**effect.example)
    sides = {side: asked if side in effect.sides else Direction() for side in STAGES}
    link = Link(bed.link, {"a.test": ORIGIN_IP})
    link.configure(Network(name="made", **sides), seed=1)
    for side in effect.sides:
        report = bed.link.ask("stats", dict[str, Any])[side]
        assert {count.field: report.get(count.field, 0) for count in COUNTS} == {
            c.field: 0 for c in COUNTS
        }


def test_recorded_delays_follow_the_clock_and_keep_packets_in_order(
    bed: Bed, tmp_path: Path
) -> None:
    record = tmp_path / "delays.csv"
    # 30 ms for 40 ms, then 5 ms for a minute.
    trace = {"name": "made", "steps": [[0, 30], [0.04, 5], [60, 0]]}
    configure(bed, record=record, down={"delay_trace": trace, "delay_ms": 1})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(12):
            origin.send(bytes(100))
            time.sleep(0.006)
        report = settled(bed, "down", sent=12)
        bed.link.ask("passthrough", dict)
        received(client, 12)
    rows = list(csv.DictReader(record.read_text().splitlines()))
    zero_ns = int(rows[0]["arrival_ns"])
    last_ns = 0
    for row in rows:
        came_ns = int(row["arrival_ns"])
        delay_ms = 31 if came_ns - zero_ns < 40_000_000 else 6
        last_ns = max(last_ns, came_ns + delay_ms * 1_000_000)
        assert int(row["ideal_ns"]) == last_ns
    flights = report["flights"]
    # The link counts by one clock and writes by another, which it reads once.
    assert abs(flights["zero_us"] - zero_ns // 1000) <= 1
    assert all(6_000 <= least <= most for _, least, most in flights["slots"])
    assert flights["slots"][0][1] >= 31_000


def test_a_client_sends_when_it_is_granted_to(bed: Bed, tmp_path: Path) -> None:
    record = tmp_path / "grants.csv"
    grant = {"request_ms": 20, "delay_ms": 15}
    configure(bed, record=record, up={"grant": grant})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(30):
            client.send(bytes(100))
            time.sleep(0.007)
        report = settled(bed, "up", sent=30)
        bed.link.ask("passthrough", dict)
        received(origin, 30)
    assert report["granted"] == 30
    assert report["flight_min_ms"] >= 15
    rows = list(csv.DictReader(record.read_text().splitlines()))
    waits_ms = [(int(row["ideal_ns"]) - int(row["arrival_ns"])) / 1e6 for row in rows]
    assert all(15 <= wait <= 35 for wait in waits_ms)
    # Packets of one grant leave together.
    assert len({row["ideal_ns"] for row in rows}) < 30


def test_a_host_can_be_lossy_alone_and_the_mtu_holds(bed: Bed) -> None:
    far = {"address": ORIGIN_IP, "delay_ms": 5, "loss": 0.3}
    configure(bed, down={"hosts": [far], "mtu": 500}, up={"hosts": [far | {"loss": 0}]})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(100):
            origin.send(bytes(400))
        origin.send(bytes(473))
        client.send(b"up")
        report = settled(bed, "down", sent=101)
        received(client, report["packets_out"])
        up = settled(bed, "up", sent=1)
    (seen,) = report["host_loss"]
    assert (seen["trials"], seen["lost"]) == (101, report["dropped_host"])
    assert 10 < report["dropped_host"] < 55
    assert report["dropped_mtu"] == 1
    assert up["transit_min_ms"] >= 5


def test_a_played_trace_never_runs_ahead_of_its_curve(bed: Bed, tmp_path: Path) -> None:
    record = tmp_path / "trace.csv"
    every_two_ms = {"name": "made", "opportunities_ms": [2, 4]}
    configure(bed, record=record, down={"trace": every_two_ms})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(60):
            origin.send(bytes(1472))
        settled(bed, "down", sent=60)
        bed.link.ask("passthrough", dict)
        received(client, 60)
    rows = list(csv.DictReader(record.read_text().splitlines()))
    first = int(rows[0]["arrival_ns"])
    assert [int(r["ideal_ns"]) - first for r in rows] == [2_000_000 * (i + 1) for i in range(60)]
    assert all(int(r["actual_ns"]) >= int(r["ideal_ns"]) for r in rows)


def lossy_visit(bed: Bed, record: Path) -> dict[str, Any]:
    configure(bed, record=record, up={"loss": 0.3, "delay_ms": 2, "rate_mbps": 10})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(100):
            client.send(bytes(50))
        report = settled(bed, "up", sent=100)
        bed.link.ask("passthrough", dict)
        received(origin, report["packets_out"])
    return report


def test_a_record_in_csv_agrees_with_the_counters(bed: Bed, tmp_path: Path) -> None:
    record = tmp_path / "link.csv"
    report = lossy_visit(bed, record)
    rows = list(csv.DictReader(record.read_text().splitlines()))
    assert sorted(int(row["index"]) for row in rows) == list(range(100))
    fates = [row["fate"] for row in rows]
    assert fates.count("loss") == report["dropped_loss"] > 0
    assert fates.count("sent") == report["packets_out"]
    assert report["loss_trials"] == 100
    for row in rows:
        least_ns = 0 if row["fate"] == "loss" else 2_000_000
        assert int(row["ideal_ns"]) - int(row["arrival_ns"]) >= least_ns


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_wireshark_reads_the_record_with_its_comments(bed: Bed, tmp_path: Path) -> None:
    record = tmp_path / "link.pcapng"
    report = lossy_visit(bed, record)
    asked = ["-T", "json", "-e", "frame.comment", "-e", "frame.interface_name", "-e", "udp.length"]
    done = subprocess.run(
        ["tshark", "-r", str(record), *asked], capture_output=True, check=True, text=True
    )
    packets = [packet["_source"]["layers"] for packet in json.loads(done.stdout)]
    assert len(packets) == 100
    assert {p["frame.interface_name"][0] for p in packets} == {"up"}
    assert {p["udp.length"][0] for p in packets} == {"58"}
    comments = [packet["frame.comment"][0] for packet in packets]
    assert sum("dropped: loss" in c for c in comments) == report["dropped_loss"]
    assert sum("after its arrival, left " in c for c in comments) == report["packets_out"]


def test_a_record_that_cannot_be_written_is_refused(bed: Bed) -> None:
    with pytest.raises(Exception, match=r"must end in \.csv or \.pcapng"):
        configure(bed, record=Path("/tmp/record.txt"))
    with pytest.raises(Exception, match="cannot write the record"):
        configure(bed, record=Path("/nowhere/record.csv"))
