"""A thousand links made and unmade: `uv run python bench/link/churn.py [COUNT]`, as root.

Prints what is left of interfaces, namespaces, processes and scratch files, and the time of a link.
"""

import os
import subprocess
import sys
import time

from dragstrip.testbed.net.link import emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink
from dragstrip.testbed.workspace import scratch_root, workspace

_LOOKS = {
    "interfaces": ["ip", "-o", "link"],
    "net namespaces": ["lsns", "-n", "-t", "net", "-o", "NS"],
    "children": ["ps", "-o", "pid=", "--ppid", str(os.getpid())],
}


def state() -> dict[str, int]:
    counts = {
        what: len(subprocess.run(argv, capture_output=True, text=True).stdout.splitlines())
        for what, argv in _LOOKS.items()
    }
    counts["scratch files"] = len(list(scratch_root().glob("*")))
    counts["descriptors"] = len(os.listdir("/proc/self/fd"))
    return counts


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    before, began = state(), time.monotonic()
    for done in range(1, count + 1):
        with workspace() as folder, namespaces() as spaces, veth_uplink(spaces) as uplink:
            plug_client(spaces, uplink.subnet)
            with emulated_link(spaces, folder / "link.err") as link:
                link.report()
        if done % 100 == 0:
            print(f"{done} links, {(time.monotonic() - began) / done * 1000:.0f} ms each")
    time.sleep(1)  # the kernel clears namespaces a moment after their last process
    after = state()
    for what, number in before.items():
        print(f"{what}: {number} before, {after[what]} after")
    sys.exit(before != after)


if __name__ == "__main__":
    main()
