"""Links made and unmade in a row leave nothing; bench/link/churn.py does it a thousand times."""

import os
import socket
import subprocess

import pytest

import ours
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes interfaces in this namespace")
def test_links_in_a_row_leave_no_interface_process_or_descriptor():
    def state():
        return ours.processes().keys(), len(os.listdir("/proc/self/fd"))

    before, made = state(), set()
    for _ in range(8):
        with namespaces() as spaces, veth_uplink(spaces) as uplink:
            plug_client(spaces, uplink.subnet)
            spaces.run("client", "ping", "-c", "1", "-W", "2", str(uplink.subnet.client))
            made |= holding(uplink.subnet.gateway)
    assert len(made) == 8
    assert not made & set(socket.if_nameindex())
    assert state() == before


def holding(address) -> set[tuple[int, str]]:
    """Index and name of the interface that has an address. No later interface gets the same
    index."""
    told = subprocess.run(
        ["ip", "-o", "addr", "show", "to", str(address)], capture_output=True, text=True, check=True
    )
    lines = map(str.split, told.stdout.splitlines())
    return {(int(index.rstrip(":")), name) for index, name, *_ in lines}
