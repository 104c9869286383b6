"""Links made and unmade in a row leave nothing; bench/link/churn.py does it a thousand times."""

import os
import subprocess

import pytest

from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes interfaces in this namespace")
def test_links_in_a_row_leave_no_interface_process_or_descriptor():
    def state():
        children = subprocess.run(
            ["ps", "--ppid", str(os.getpid()), "-o", "pid=,comm="], capture_output=True, text=True
        )
        ours = [c for c in children.stdout.split("\n") if c.strip() and "ps" not in c.split()[1]]
        interfaces = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True)
        return interfaces.stdout, len(os.listdir("/proc/self/fd")), ours

    before = state()
    for _ in range(8):
        with namespaces() as spaces, veth_uplink(spaces) as uplink:
            plug_client(spaces, uplink.subnet)
            spaces.run("client", "ping", "-c", "1", "-W", "2", str(uplink.subnet.client))
    assert state() == before
