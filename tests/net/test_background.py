import time
from pathlib import Path

import pytest

from dragstrip.model.background import Background
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.testbed.background import background
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import Link, emulated_link
from dragstrip.testbed.net.namespaces import Namespaces, namespaces
from dragstrip.testbed.net.wires import wire_up

SLOW = Network(
    name="slow",
    down=Direction(rate_mbps=4, delay_ms=10, queue_ms=100),
    up=Direction(rate_mbps=2, delay_ms=10, queue_ms=100),
)


def under_load(spaces: Namespaces, link: Link, *loads: Background) -> tuple[float, float]:
    """Link's Mbit/s down and up during half a second after the lead."""
    link.configure(SLOW, 1)
    with background(spaces, link, loads) as running:
        before, start = link.report(), time.monotonic()
        time.sleep(0.5)
        after, seconds = link.report(), time.monotonic() - start
        link.passthrough()
        assert [report.load for report in running.stop()] == list(loads)
    return (
        (after.down.bytes_out - before.down.bytes_out) * 8 / seconds / 1e6,
        (after.up.bytes_out - before.up.bytes_out) * 8 / seconds / 1e6,
    )


def test_load_shares_the_link_and_ends_with_the_visit(tmp_path: Path) -> None:
    with namespaces() as spaces:
        wire_up(spaces, {})
        with emulated_link(spaces, tmp_path / "link.err") as link:
            bulk = Background(congestion="cubic", lead_ms=1000)
            down, up = under_load(spaces, link, bulk)
            assert down == pytest.approx(4, rel=0.25)  # bulk TCP takes the whole rate
            assert up < 0.5  # acknowledgements
            constant = Background(kind="udp", rate_mbps=0.5, flows=2, direction="up", lead_ms=200)
            down, up = under_load(spaces, link, constant)
            assert down < 0.2
            assert up == pytest.approx(1, rel=0.25)
            quic = Background(kind="quic", congestion="prague", flows=2, lead_ms=1000)
            down, up = under_load(spaces, link, quic)
            assert down == pytest.approx(4, rel=0.25)
            assert up < 0.5
            time.sleep(0.5)  # waiting packets find no socket
            link.configure(SLOW, 1)
            time.sleep(0.3)
            assert link.report().up.packets_in == 0  # no traffic continues after the block


def test_load_that_cannot_flow_is_an_error(tmp_path: Path) -> None:
    with namespaces() as spaces:
        wire_up(spaces, {})
        with emulated_link(spaces, tmp_path / "link.err") as link:
            link.configure(Network(name="cut", down=Direction(loss=1), up=Direction()), 1)
            with (
                pytest.raises(TestbedError, match="background load"),
                background(spaces, link, [Background()], patience_s=1),
            ):
                pass


def test_bulk_quic_sends_with_the_code_point_of_its_congestion_control(tmp_path: Path) -> None:
    with namespaces() as spaces:
        wire_up(spaces, {})
        with emulated_link(spaces, tmp_path / "link.err") as link:
            for congestion, ect1 in (("prague", True), ("bbr3", False)):
                link.configure(SLOW, 1)
                load = Background(kind="quic", congestion=congestion, lead_ms=500)
                with background(spaces, link, [load]) as running:
                    ends = link.report().down.far_ends or ()
                    [end] = [end for end in ends if end.port >= 5401]
                    (told,) = running.stop()
                assert told.sent_bytes > 50_000
                assert (end.ect1 > 20) == ect1
                assert end.ect0 == 0
                link.passthrough()
