"""Round trip and rate of gRPC: python grpc_calls.py ADDRESS:PORT [BYTES]"""

import json
import sys
import time

import grpc

place, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3_000_000
with grpc.insecure_channel(place) as channel:
    echo = channel.unary_unary("/link/Echo")
    trips = []
    for number in range(6):
        began = time.monotonic()
        echo(b"ping")
        if number:  # the first opens the connection
            trips.append(time.monotonic() - began)
    got, first_s, first = 0, 0.0, 0
    for chunk in channel.unary_stream("/link/Send")(str(size).encode()):
        got += len(chunk)
        if not first and got >= size // 3:  # past slow start
            first_s, first = time.monotonic(), got
    rate = (got - first) * 8 / (time.monotonic() - first_s)
print(json.dumps({"round_trip_ms": min(trips) * 1000, "mbps": rate / 1e6}))
