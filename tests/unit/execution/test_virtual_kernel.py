"""The guest's kernel is built from the sources our changes were written for, or not at all."""

import io
import tarfile
from pathlib import Path

import pytest

from dragstrip.execution.guest.kernel import build as builds
from dragstrip.execution.guest.kernel import prebuilt, recipe
from dragstrip.execution.guest.kernel.build import build
from dragstrip.execution.guest.kernel.sources import version
from dragstrip.model.errors import InputError
from dragstrip.testbed.errors import TestbedError

MAKEFILE = "# SPDX\nVERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\nEXTRAVERSION =\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "PROGRAMS", {"tar": "tar"})
    return tmp_path / "cache/dragstrip/virtual"


def archive(folder: Path, **files: str) -> Path:
    path = folder / "linux.tar"
    with tarfile.open(path, "w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"linux-7.2/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_other_sources_are_refused_and_leave_nothing(cache, tmp_path):
    files = {"Makefile": MAKEFILE, "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n"}
    with pytest.raises(TestbedError, match="arch/um/Kconfig is not the file"):
        build(archive(tmp_path, **files))
    assert [path.name for path in cache.iterdir()] == ["lock"]
    assert recipe.installed() is None


def test_what_is_no_kernel_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"linux\.tar holds no Linux kernel"):
        build(archive(tmp_path, README="x"))
    text = tmp_path / "text"
    text.write_text("not an archive")
    with pytest.raises(InputError, match="neither a Debian package nor a tar archive"):
        build(text)
    with pytest.raises(InputError, match="there is no file"):
        build(tmp_path / "missing.deb")


def test_what_the_machine_lacks_is_said_before_anything_is_fetched(monkeypatch):
    monkeypatch.setattr(builds, "PROGRAMS", {"no-such-flex": "flex", "no-such-bc": "bc"})
    with pytest.raises(TestbedError, match="no-such-flex, no-such-bc missing: apt-get install"):
        build()


def test_without_a_kernel_the_error_says_how_to_get_one():
    with pytest.raises(TestbedError, match="dragstrip virtual install"):
        recipe.kernel()


def test_a_machine_without_user_mode_linux_is_named(monkeypatch):
    monkeypatch.setattr(recipe.platform, "machine", lambda: "aarch64")
    for attempt in (build, recipe.kernel):
        with pytest.raises(TestbedError, match=r"x86-64 machine: .* does not run on aarch64"):
            attempt()


def test_the_newest_kernel_of_this_recipe_is_taken(cache):
    for name in ("7.2.9", "7.2.13"):
        folder = cache / f"linux-{name}-{recipe.digest()}"
        folder.mkdir(parents=True)
        (folder / "linux").touch()
    (cache / "linux-9.9.9-ffffffffffff").mkdir()
    (cache / "linux-9.9.9-ffffffffffff/linux").touch()
    assert recipe.name_of(recipe.kernel()) == f"linux-7.2.13-{recipe.digest()}"


def test_the_version_is_read_from_the_sources(tmp_path):
    (tmp_path / "Makefile").write_text(MAKEFILE)
    assert version(tmp_path) == "7.2.13"


def test_options_have_values(tmp_path):
    options = dict(recipe.options())
    assert options["UML_TIME_TRAVEL_SUPPORT"] == "y"
    assert options["SMP"] == "n"
    assert options["UML_MAX_USERSPACE_ITERATIONS"] == "0"


def made_kernel(folder: Path, script: str = "#!/bin/sh\necho 7.2.13\n") -> Path:
    here = folder / f"linux-7.2.13-{recipe.digest()}"
    here.mkdir(parents=True)
    for name in prebuilt.FILES:
        (here / name).write_text(script)
        (here / name).chmod(0o755)
    return here / "linux"


def test_a_kernel_is_packed_here_and_taken_there(cache, tmp_path):
    built, archive = made_kernel(tmp_path / "there"), tmp_path / "kernel.tar.xz"
    prebuilt.pack(built, archive)
    again = tmp_path / "again.tar.xz"
    prebuilt.pack(built, again)
    assert archive.read_bytes() == again.read_bytes()
    taken = prebuilt.take(archive)
    assert taken == recipe.installed() == cache / built.parent.name / "linux"
    assert (taken.parent / "COPYING").read_bytes() == (built.parent / "COPYING").read_bytes()
    assert prebuilt.take(archive) == taken
    with tarfile.open(archive) as tar:
        assert f"{built.parent.name}/SOURCES" in tar.getnames()


def test_other_archives_are_refused_and_leave_nothing(cache, tmp_path, monkeypatch):
    text = tmp_path / "text"
    text.write_text("no archive")
    with pytest.raises(InputError, match="text cannot be read"):
        prebuilt.take(text)
    with pytest.raises(InputError, match=r"linux\.tar is no kernel"):
        prebuilt.take(archive(tmp_path, README="x"))
    broken = tmp_path / "broken.tar.xz"
    prebuilt.pack(made_kernel(tmp_path / "broken", "not a program"), broken)
    with pytest.raises(InputError, match="does not run on this machine"):
        prebuilt.take(broken)
    monkeypatch.setattr(prebuilt, "digest", lambda: "0123456789ab")
    with pytest.raises(InputError, match="needs one that ends in -0123456789ab"):
        prebuilt.take(broken)
    assert recipe.installed() is None
    assert not list(cache.glob("linux-*"))
