"""A child process that exchanges JSON lines with us: one object in, one object out, in order."""

import contextlib
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dragstrip.testbed.errors import ProgramEnded, TestbedError

T = TypeVar("T")
_UNTIL_STDIN_ENDS = """
exec 3<&0
"$@" 3<&- < /dev/null & p=$!
(cat <&3 > /dev/null; kill $p 2> /dev/null) &
wait $p
"""
_ANSWER_TIMEOUT_S = 30.0
_EXIT_TIMEOUT_S = 2.0
PIPE_BYTES = 1 << 16
"""Bytes that a pipe holds. Python maps memory anew for a larger buffer, each time it reads."""


def until_stdin_ends(*argv: str) -> list[str]:
    """Return a shell command that runs `argv` and ends it when the shell's stdin closes. So a
    program that does not watch its stdin cannot outlive its owner, even if the owner is killed."""
    return ["sh", "-c", _UNTIL_STDIN_ENDS, "sh", *argv]


class JsonProcess:
    """A child process, which `json_process` starts. Several threads must not share it."""

    def __init__(self, name: str, child: "subprocess.Popen[bytes]", errors: Path) -> None:
        self._name = name
        self._child = child
        self._errors = errors
        self._received = bytearray()
        self._began = False
        assert child.stdin
        assert child.stdout
        self._stdin, self._stdout = child.stdin, child.stdout
        self.greeting: dict[str, Any] = self._decoded(self._line(), dict[str, Any])
        self._began = True

    @property
    def pid(self) -> int:
        """Id of the child's process group. The child leads its own session."""
        return self._child.pid

    def ask(
        self, cmd: str, answer: type[T], *, within_s: float = _ANSWER_TIMEOUT_S, **fields: Any
    ) -> T:
        """Send one command and return its answer as type `answer`. Raises `TestbedError`, and
        `ProgramEnded` if the child is gone."""
        self.tell(cmd, **fields)
        return self._decoded(self._line(within_s, f" {cmd!r}"), answer)

    def tell(self, cmd: str, **fields: Any) -> None:
        """Send one command whose answer is of no interest: the last one. Raises `ProgramEnded`."""
        try:
            self._stdin.write(msgspec.json.encode({"cmd": cmd, **fields}) + b"\n")
            self._stdin.flush()
        except BrokenPipeError:
            raise self._died(f"before {cmd!r}") from None

    def _decoded(self, line: bytes, answer: type[T]) -> T:
        try:
            status = msgspec.json.decode(line, type=_Status)
            if not status.ok:
                raise TestbedError(f"{self._name}: {status.error}")
            return msgspec.json.decode(line, type=answer)
        except msgspec.DecodeError as error:
            raise TestbedError(f"{self._name} answered {line[:200]!r}: {error}") from None

    def _line(self, within_s: float = _ANSWER_TIMEOUT_S, asked: str = "") -> bytes:
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._stdout], [], [], within_s)
            if not ready:
                raise TestbedError(f"{self._name} has not answered{asked} for {within_s:g} s")
            chunk = os.read(self._stdout.fileno(), PIPE_BYTES)
            if not chunk:
                raise self._died("while dragstrip waited for its answer")
            self._received += chunk
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line

    def _died(self, when: str) -> TestbedError:
        said = self._errors.read_text(errors="replace").strip().splitlines()
        kind = ProgramEnded if self._began else TestbedError
        return kind(f"{self._name} ended {when}: {' '.join(said[-3:]) or 'it said nothing'}")


class _Status(msgspec.Struct):
    ok: bool
    error: str = ""


@contextlib.contextmanager
def json_process(name: str, argv: Sequence[str], errors: Path) -> Iterator[JsonProcess]:
    """Run `argv`; its stderr goes to the file `errors`. When the context ends, the program's stdin
    is closed, which ends the program."""
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        ) as child,
    ):
        try:
            yield JsonProcess(name, child, errors)
        finally:
            with contextlib.suppress(BrokenPipeError):
                assert child.stdin
                child.stdin.close()
            try:
                child.wait(_EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                child.kill()
