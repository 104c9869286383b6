"""A registry on loopback that speaks to the clients of PyPI, npm, Go and Cargo."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest


class Registry:
    """Serves `files`, path to body. `asked` has the paths that were asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        registry = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path)
                registry.asked.append(path)
                body = registry.files.get(path)
                self.send_response(404 if body is None else 200)
                self.send_header("content-length", str(len(body or b"")))
                if path.startswith("/simple/"):
                    self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def registry() -> Iterator[Registry]:
    made = Registry()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def use(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str) -> None:
    """Configure every client for the registry at `url`, and nothing else."""
    found = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True)
    for name in [n for n in os.environ if n.lower().startswith(("pip_", "npm_config_", "cargo_"))]:
        monkeypatch.delenv(name)
    (folder / "cargo").mkdir()
    (folder / "cargo" / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "loopback"\n'
        f'[source.loopback]\nregistry = "sparse+{url}/index/"\n'
    )
    settings = {
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"{url}/simple/",
        "npm_config_userconfig": str(folder / "npmrc"),
        "npm_config_registry": f"{url}/",
        "npm_config_fetch_retries": "0",
        "GOPROXY": url,
        "GOSUMDB": "off",
        "GOCACHE": found.stdout.strip(),
        "CARGO_HOME": str(folder / "cargo"),
        "CARGO_NET_RETRY": "0",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def zipped(members: dict[str, bytes]) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as packed:
            for name, data in members.items():
                packed.writestr(name, data)
        return file.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return file.getvalue()


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def sha512(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


def add_wheel(to: Registry, program: bytes) -> bytes:
    """The package toy-server 1.0 of PyPI."""
    info = "toy_server-1.0.dist-info"
    wheel = zipped(
        {
            "toy/_bin/toy": program,
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: toy-server\nVersion: 1.0\n",
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
    )
    name = "toy_server-1.0-py3-none-any.whl"
    to.files["/simple/toy-server/"] = f'<a href="/files/{name}">{name}</a>'.encode()
    to.files[f"/files/{name}"] = wheel
    return wheel


def add_npm(to: Registry, program: bytes) -> bytes:
    """The package @toy/server 1.0.0 of npm."""
    manifest = {"name": "@toy/server", "version": "1.0.0"}
    archive = tarred(
        {"package/package.json": json.dumps(manifest).encode(), "package/bin/toy": program}
    )
    dist = {"tarball": f"{to.url}/toy.tgz", "integrity": sha512(archive)}
    versions = {"1.0.0": {**manifest, "dist": dist}}
    told = {"name": "@toy/server", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    to.files["/@toy/server"] = json.dumps(told).encode()
    to.files["/toy.tgz"] = archive
    return archive


def _hash1(members: dict[str, bytes]) -> str:
    """Go's digest of a module's files."""
    lines = (f"{hashlib.sha256(data).hexdigest()}  {n}\n" for n, data in sorted(members.items()))
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def add_module(to: Registry, word: str) -> str:
    """Adds the module toy.test/lib v1.0.0 with this `Word`; returns its go.sum."""
    text = b"module toy.test/lib\n"
    inside = {"go.mod": text, "lib.go": f'package lib\n\nconst Word = "{word}"\n'.encode()}
    members = {f"toy.test/lib@v1.0.0/{name}": data for name, data in inside.items()}
    at = "/toy.test/lib/@v/v1.0.0"
    to.files[f"{at}.info"] = b'{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}'
    to.files[f"{at}.mod"] = text
    to.files[f"{at}.zip"] = zipped(members)
    return (
        f"toy.test/lib v1.0.0 {_hash1(members)}\n"
        f"toy.test/lib v1.0.0/go.mod {_hash1({'go.mod': text})}\n"
    )


def add_crate(to: Registry, word: str) -> str:
    """Adds the crate toy-lib 1.0.0 with this `WORD`; returns its SHA-256 in hex."""
    manifest = '[package]\nname = "toy-lib"\nversion = "1.0.0"\nedition = "2021"\n'
    archive = tarred(
        {
            "toy-lib-1.0.0/Cargo.toml": manifest.encode(),
            "toy-lib-1.0.0/src/lib.rs": f'pub const WORD: &str = "{word}";\n'.encode(),
        }
    )
    digest = hashlib.sha256(archive).hexdigest()
    told = {"name": "toy-lib", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False}
    to.files["/index/config.json"] = json.dumps({"dl": f"{to.url}/dl"}).encode()
    to.files["/index/to/y-/toy-lib"] = json.dumps({**told, "cksum": digest}).encode() + b"\n"
    to.files["/dl/toy-lib/1.0.0/download"] = archive
    return digest
