"""Holds each answer of a server that proxies to the origin.

python held_answers.py SECONDS PROGRAM CONFIG

Runs PROGRAM with a copy of the JSON file CONFIG, in which another socket stands for the origin's.
What arrives there goes on to the origin after SECONDS; the origin's answers pass at once.
"""

import asyncio
import json
import sys
from pathlib import Path

CHUNK = 65_536


async def pump(reader, writer, wait_s):
    while data := await reader.read(CHUNK):
        await asyncio.sleep(wait_s)
        writer.write(data)
        await writer.drain()
    writer.close()


async def main(wait_s, program, config):
    settings = json.loads(Path(config).read_text())
    origin, folder = settings["upstream"], Path(settings["folder"])
    settings["upstream"] = str(folder / "held.sock")
    copy = folder / "held.json"
    copy.write_text(json.dumps(settings))
    Path(settings["upstream"]).unlink(missing_ok=True)

    async def relay(reader, writer):
        there, back = await asyncio.open_unix_connection(origin)
        await asyncio.gather(
            pump(reader, back, wait_s), pump(there, writer, 0), return_exceptions=True
        )

    async with await asyncio.start_unix_server(relay, settings["upstream"]):
        child = await asyncio.create_subprocess_exec(program, str(copy))
        sys.exit(await child.wait())


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), *sys.argv[2:]))
