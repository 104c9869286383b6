"""Changes the link around it, as a test may do, and prints a round trip in ms before and after:

dragstrip link --delay 10ms --control link.sock -- python change.py http://ADDRESS:PORT
"""

import json
import os
import socket
import sys
import time
from urllib.parse import urlsplit


def round_trip_ms(address: tuple[str, int]) -> float:
    began = time.monotonic()
    socket.create_connection(address).close()
    return (time.monotonic() - began) * 1000


def change(**values: object) -> None:
    """Raises `ValueError` with what the link says if it does not understand."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(os.environ["DRAGSTRIP_CONTROL"])
        control.sendall(json.dumps(values).encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    if not answer["ok"]:
        raise ValueError(answer["error"])


def main() -> None:
    web = urlsplit(sys.argv[1])
    address = (str(web.hostname), web.port or 80)
    before_ms = round_trip_ms(address)
    change(delay="100ms")
    print(json.dumps({"before_ms": before_ms, "after_ms": round_trip_ms(address)}))


main()
