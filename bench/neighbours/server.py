"""A server to measure by: HTTP/1.1, WebSocket and gRPC, on three ports of one address.

    python bench/neighbours/server.py ADDRESS

prints where each is. ``/3000000`` answers with as many bytes, ``/stream.m3u8`` with a stream for a
player, ``/`` with a page that loads ``/30000``. A WebSocket sends each text back, and 3000000 bytes
in answer to ``3000000``. gRPC's method ``/link/Echo`` sends its request back, and ``/link/Send`` a
stream of as many bytes as its request says.
"""

import asyncio
import contextlib
import http.server
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import grpc
import stream
from websockets.asyncio.server import ServerConnection, serve

_PAGE = b"<!doctype html><title>A page</title><h1>A page</h1><img src='/30000'><p>Text."
_CHUNK = 16_384


class _Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        name = self.path.strip("/").partition("?")[0]
        if name.isdigit():
            kind, body = "image/png", bytes(int(name))
        else:
            kind, body = stream.files().get(name, ("text/html", _PAGE))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up needs no trace."""


async def _talk(socket: ServerConnection) -> None:
    async for said in socket:
        if isinstance(said, str) and said.isdigit():
            for chunk in _chunks(int(said)):
                await socket.send(chunk)
        else:
            await socket.send(said)


class _Calls(grpc.GenericRpcHandler):
    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        if call.method == "/link/Echo":
            return grpc.unary_unary_rpc_method_handler(lambda request, _: request)
        return grpc.unary_stream_rpc_method_handler(lambda request, _: _chunks(int(request)))


def _chunks(left: int) -> Iterator[bytes]:
    while left:
        yield bytes(min(left, _CHUNK))
        left -= min(left, _CHUNK)


class Places(NamedTuple):
    web: str
    sockets: str
    calls: str


@contextlib.contextmanager
def servers(address: str) -> Iterator[Places]:
    """Where each server is, while entered."""
    calls = grpc.server(ThreadPoolExecutor(4))
    calls.add_generic_rpc_handlers([_Calls()])
    calls_port = calls.add_insecure_port(f"{address}:0")
    calls.start()
    web = _Server((address, 0), _Web)
    threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
    ports: list[int] = []
    ready, over = threading.Event(), threading.Event()

    async def run() -> None:
        # Not compressed: a message of zeros would cross in no time.
        async with serve(_talk, address, 0, compression=None) as sockets:
            ports.append(next(iter(sockets.sockets)).getsockname()[1])
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield Places(
            f"http://{address}:{web.server_address[1]}",
            f"ws://{address}:{ports[0]}",
            f"{address}:{calls_port}",
        )
    finally:
        calls.stop(None)
        web.shutdown()
        web.server_close()
        over.set()
        thread.join(5)


if __name__ == "__main__":
    with servers(sys.argv[1]) as urls:
        print(*urls, flush=True)
        threading.Event().wait()
