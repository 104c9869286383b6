"""Round trip and rate of a WebSocket: python websocket.py ws://ADDRESS:PORT [BYTES]"""

import asyncio
import json
import sys
import time

from websockets.asyncio.client import connect


async def main(url: str, size: int) -> None:
    async with connect(url, compression=None, max_size=None) as socket:
        trips = []
        for _ in range(5):
            began = time.monotonic()
            await socket.send("ping")
            await socket.recv()
            trips.append(time.monotonic() - began)
        await socket.send(str(size))
        got, first_s, first = 0, 0.0, 0
        while got < size:
            got += len(await socket.recv())
            if not first and got >= size // 3:  # past slow start
                first_s, first = time.monotonic(), got
        rate = (got - first) * 8 / (time.monotonic() - first_s)
    print(json.dumps({"round_trip_ms": min(trips) * 1000, "mbps": rate / 1e6}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3_000_000))
