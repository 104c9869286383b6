"""Runs a command inside a link. Everything but its network is the same as outside.

The command keeps user, folder, environment, open files and terminal. Its process tree is separate,
and the kernel kills the tree when the owner ends. It gets a name server that it can reach.
"""

import os
import signal
import socket
from collections.abc import Sequence

from dragstrip.testbed.net.namespaces import Namespaces, only_child
from dragstrip.testbed.uplink.address import Subnet
from dragstrip.testbed.uplink.names import resolv_conf
from dragstrip.testbed.uplink.uplink import own_address

_PASSED_ON = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_WATCHED = {*_PASSED_ON, signal.SIGCHLD}
_LOOKS_AGAIN_S = 0.2
"""Time in s between checks whether the command has ended. While no thread waits for SIGCHLD, the
signal may go to a library's thread that does not block it, and be lost."""
_SI_KERNEL = 0x80
"""The `si_code` of a signal from the terminal, which the command receives directly
(sigaction(2))."""

# The file lives in a file system that only this mount namespace has, below the new /proc.
_ARRANGE = """
set -e
if [ -n "$1" ]; then
  mount -n -t tmpfs tmpfs /proc
  printf %s "$1" >/proc/resolv.conf
  mount -n --bind /proc/resolv.conf /etc/resolv.conf
fi
mount -n -t proc proc /proc
shift
exec "$@"
"""


def run_inside(spaces: Namespaces, subnet: Subnet, command: Sequence[str]) -> int:
    """Run `command` in the client namespace and pass signals on.

    Return the command's exit code, or 128 + the signal that ended it. `DRAGSTRIP_HOST` and
    `DRAGSTRIP_HOST6` in its environment are addresses of the caller's machine.
    """
    argv = spaces.enter(f"--net={spaces.path('client')}")
    argv += "unshare --mount --propagation slave -- sh -c".split()
    argv += [_ARRANGE, "sh", resolv_conf(str(subnet.gateway)) or ""]
    if spaces.rootless:
        argv += ["unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}"]
        argv += ["--"]
    outside = {
        "DRAGSTRIP_HOST": own_address(socket.AF_INET) or str(subnet.gateway),
        "DRAGSTRIP_HOST6": own_address(socket.AF_INET6) or str(subnet.gateway6),
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    child = os.posix_spawnp(
        argv[0],
        [*argv, *command],
        {**os.environ, **outside},
        setsigmask=before - _WATCHED,
        setsigdef=[signal.SIGPIPE],
    )
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code
        told = signal.sigtimedwait(_WATCHED, _LOOKS_AGAIN_S)
        if told and told.si_signo != signal.SIGCHLD and told.si_code != _SI_KERNEL:
            _send(child, told.si_signo)


def watch_signals() -> None:
    """Block signals in this thread and in threads that it starts, so that `run_inside` can wait for
    them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)


def _send(nsenter: int, number: int) -> None:
    """Send a signal to the command itself, which is the only child of nsenter."""
    try:
        os.kill(only_child(nsenter), number)
    except (OSError, IndexError):
        os.kill(nsenter, number)
