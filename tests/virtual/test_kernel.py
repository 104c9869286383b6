"""The guest's kernel by itself, with one program in it."""

import subprocess
import sys
from pathlib import Path

from dragstrip.execution.guest.kernel.recipe import kernel

BOOT = (
    "mem=2G root=/dev/root rootfstype=hostfs rootflags=/ rw con=null con0=fd:0,fd:1 quiet "
    "seccomp=on time-travel=inf-cpu"
).split()

SHATTERED = """
import ctypes, mmap, os

PAGE, PAGES = 4096, 150_000
memory = mmap.mmap(-1, PAGE * PAGES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

def stamp(writer, page):
    at = page * PAGE
    memory[at : at + 5] = bytes([writer]) + page.to_bytes(4, "little")

def told():
    found = set()
    for page in range(PAGES):
        writer, *number = memory[page * PAGE : page * PAGE + 5]
        assert int.from_bytes(bytes(number), "little") == page
        found.add((writer, page % 2))
    return found

for page in range(PAGES):
    stamp(1, page)
child = os.fork()
if not child:
    for page in range(0, PAGES, 2):  # its own copies lie between the parent's pages
        stamp(2, page)
    os._exit(told() != {(2, 0), (1, 1)})
_, ended = os.waitpid(child, 0)
print("child", ended, told() == {(1, 0), (1, 1)}, flush=True)
ctypes.CDLL(None).reboot(0x4321FEDC)
"""
"""Neighbouring pages of the child are never neighbours in the guest's memory. So each is a separate
mapping on the host. No more than 65,530 are allowed there by default (vm.max_map_count)."""


def boot(program: Path) -> str:
    """The output of a program that runs as the first process of a guest."""
    command = [str(kernel()), *BOOT, f"init={program}"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    return done.stdout


def test_a_program_may_need_more_mappings_than_the_host_allows(tmp_path):
    program = tmp_path / "init"
    (tmp_path / "shattered.py").write_text(SHATTERED)
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path}/shattered.py\n")
    program.chmod(0o755)
    assert "child 0 True" in boot(program)
