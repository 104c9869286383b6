"""Creates namespaces that vanish with their owner.

A keeper process holds a private mount and PID namespace. The network namespaces `client`, `link`
and `origin` are named inside that mount namespace only, so any number of testbeds can use the same
names and addresses without conflict.

The keeper waits for its stdin to end. When the owner dies, even by kill -9, the keeper (PID 1 of
its namespace) ends and the kernel kills every process of the testbed. The namespaces and interfaces
vanish with the last process.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.refusals import refusal

NamespaceName = Literal["client", "link", "origin", "resolver"]
"""The resolver's namespace exists only in testbeds with a resolver, see `Namespaces.add`."""

_UNSHARE = "--mount --net --pid --fork --kill-child --mount-proc --propagation private --".split()
_KEEP = """
set -e
mount -t tmpfs tmpfs /run
for name in client link origin; do
  ip netns add $name
  ip -n $name link set lo up
done
echo ready
cat
"""
# The script does not `exec cat`: the first process of a PID namespace must reap orphans, which a
# shell does.


@dataclass(frozen=True)
class Namespaces:
    """Handle of a running keeper. `command` makes a command line that runs a program in its
    namespaces."""

    keeper_pid: int
    rootless: bool

    def command(self, where: NamespaceName, *argv: str) -> list[str]:
        """Return the argument vector that runs `argv` in one of the network namespaces."""
        return [*self.enter("--mount"), "ip", "netns", "exec", where, *argv]

    def add(self, name: NamespaceName) -> None:
        """Make another network namespace. Raises `TestbedError`."""
        make = f"ip netns add {name} && ip -n {name} link set lo up"
        argv = [*self.enter("--mount"), "sh", "-c", make]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise TestbedError(f"cannot make namespace {name!r}: {done.stderr.strip()}")

    def configure(self, where: NamespaceName, lines: Sequence[str]) -> None:
        """Run `ip -batch` lines in a namespace. Raises `TestbedError`, which names the failed
        line."""
        done = subprocess.run(
            [*self.enter("--mount"), "ip", "-n", where, "-batch", "-"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise TestbedError(f"ip -batch in namespace {where!r} failed: {done.stderr.strip()}")

    def run(self, where: NamespaceName, *argv: str) -> str:
        """Run a program to its end and return its stdout. Raises `TestbedError`."""
        done = subprocess.run(self.command(where, *argv), capture_output=True, text=True)
        if done.returncode:
            what = " ".join(argv)
            raise TestbedError(f"{what!r} in namespace {where!r} failed: {done.stderr.strip()}")
        return done.stdout

    def path(self, where: NamespaceName) -> str:
        """Return the path of a network namespace, as a file that the owner can open."""
        return f"/proc/{self.keeper_pid}/root/run/netns/{where}"

    def enter(self, *more: str) -> list[str]:
        """Return the `nsenter` command for the testbed's user and PID namespace, and for the
        namespaces in `more`."""
        user = ["--user", "--preserve-credentials"] if self.rootless else []
        return ["nsenter", "--target", str(self.keeper_pid), *user, "--pid", *more, "--"]


@contextlib.contextmanager
def namespaces() -> Iterator[Namespaces]:
    """Create the three namespaces. They, and every process inside, end with the context.

    An ordinary user gets them in a user namespace. Raises `TestbedError` if namespaces are not
    available.
    """
    for program in ("unshare", "nsenter", "ip"):
        if not shutil.which(program):
            raise TestbedError(f"{program!r} is missing: install util-linux and iproute2")
    rootless = os.geteuid() != 0
    user = ["--user", "--map-root-user"] if rootless else []
    unshare = subprocess.Popen(
        ["unshare", *user, *_UNSHARE, "sh", "-c", _KEEP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert unshare.stdin
    assert unshare.stdout
    assert unshare.stderr
    try:
        if unshare.stdout.readline() != "ready\n":
            said = unshare.stderr.read().strip() or "no reason given"
            why = refusal()
            raise TestbedError(f"cannot create namespaces: {said}" + (f": {why}" if why else ""))
        yield Namespaces(keeper_pid=only_child(unshare.pid), rootless=rootless)
    finally:
        for stream in (unshare.stdin, unshare.stdout, unshare.stderr):
            stream.close()
        unshare.wait()


def only_child(pid: int) -> int:
    """Return the process id of a process's only child."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
