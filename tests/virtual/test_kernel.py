"""The guest's kernel by itself, with one program in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.model.clock import PRICED

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


FILLING = """
import ctypes, mmap, os, threading, time

PAGE, PAGES = 4096, 8000
SIZE = ctypes.c_size_t(PAGE * PAGES)
C = ctypes.CDLL(None)
C.mmap.restype = ctypes.c_void_p

def memory():
    return ctypes.c_void_p(C.mmap(None, SIZE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0))

def fill():
    C.memset(memory(), 1, SIZE)

def populate():
    assert not C.madvise(memory(), SIZE, 23)  # MADV_POPULATE_WRITE

def took(call):
    began = time.monotonic()
    call()
    os.getppid()  # a thread waits for what it owes at its next system call
    return time.monotonic() - began

def threads(call, count):
    def together():
        each = [threading.Thread(target=call) for _ in range(count)]
        for one in each: one.start()
        for one in each: one.join()
    return together

for call in (fill, populate, threads(fill, 1), threads(populate, 1), threads(fill, 3)):
    print(f"us: {took(call) / PAGES * 1e6:.2f}", flush=True)
C.reboot(0x4321FEDC)
"""


def boot(program: Path, *more: str) -> str:
    """The output of a program that runs as the first process of a guest."""
    command = [str(kernel()), *BOOT, *more, f"init={program}"]
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


def test_each_thread_waits_for_the_memory_that_it_fills(tmp_path):
    """A first thread 30 us a page and others 7 us, three at once no longer than one."""
    program = tmp_path / "init"
    (tmp_path / "filling.py").write_text(FILLING)
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path}/filling.py\n")
    program.chmod(0o755)
    prices = [f"dragstrip_{what}_ns={ns}" for what, ns in PRICED.prices_ns.items()]
    told = boot(program, *prices).splitlines()
    us_a_page = [float(line.removeprefix("us: ")) for line in told if line.startswith("us: ")]
    assert us_a_page == pytest.approx([30, 30, 7, 7, 7], rel=0.05)
