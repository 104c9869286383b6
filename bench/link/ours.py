"""Measures dragstrip's own link, as the calling user; prints one JSON object per line."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import figures

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.testbed.net.link import emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.net.wires import CLIENT_IP, GATEWAY_IP, wire_up
from dragstrip.testbed.process import json_process

_ENDS = str(Path(__file__).with_name("ends.py"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, namespaces() as spaces:
        wire_up(spaces, {})
        for where in ("client", "origin"):
            spaces.run(where, "sysctl", "-q", "-w", *(f"{n}={v}" for n, v in figures.BUFFERS))
        argv = [*spaces.enter("--mount"), sys.executable, "-I", _ENDS, CLIENT_IP, GATEWAY_IP]
        with (
            emulated_link(spaces, Path(folder) / "link") as link,
            json_process("ends", argv, Path(folder) / "ends") as ends,
        ):
            for run in range(int(sys.argv[1])):
                for name, values, work, arguments in figures.FIGURES:
                    each: Any = Direction(**values)
                    link.configure(Network(name=name, down=each, up=each), seed=run)
                    got = ends.ask(work, dict[str, Any], **arguments)
                    got["lateness_p99_us"] = link.report().down.lateness_p99_us
                    print(json.dumps({"figure": name} | got), flush=True)


main()
