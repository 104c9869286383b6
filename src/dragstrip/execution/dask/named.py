"""Clusters that Dask's configuration describes: over SSH, by a batch system, on Kubernetes."""

import contextlib
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import dask

from dragstrip.model.errors import InputError

_EXAMPLE = "docs/howto/cluster.md shows an entry"
_NOISY = ("tornado.application", "asyncio")
"""Loggers that print a traceback when Dask fails to start workers in the background."""
_TEMPORARY = re.compile(r"/tmp/\S+")


@contextlib.contextmanager
def named(name: str, said: Callable[[str], None]) -> Iterator[Any]:
    """Start the cluster of an entry under `dragstrip.clusters`; it ends with the context.

    Calls `said` once for each reason why workers do not start. Raises `InputError` if there is no
    such entry, or if the entry makes no cluster.
    """
    known = dask.config.get("dragstrip.clusters", {}) or {}
    if name not in known:
        has = f"it knows {', '.join(sorted(known))}" if known else "it knows none"
        raise InputError(
            f"--cluster {name}: Dask's configuration has no such entry under dragstrip.clusters "
            f"({has}); {_EXAMPLE}, or give an address like tcp://HOST:8786, or local:3"
        )
    with _errors_to(_Reasons(f"--cluster {name}", said)):
        cluster = _made(name, known[name])
        try:
            if "workers" in known[name]:
                cluster.scale(known[name]["workers"])
            yield cluster
        finally:
            with contextlib.suppress(AssertionError):  # Dask's, of workers that never started
                cluster.close()


def _made(name: str, entry: Any) -> Any:
    try:
        module, _, kind = str(entry["class"]).rpartition(".")
        return getattr(import_module(module), kind)(**entry.get("arguments", {}))
    except (
        KeyError,
        TypeError,
        ValueError,
        ImportError,
        AttributeError,
        OSError,
        RuntimeError,  # raised by Dask when a scheduler or worker did not start
    ) as error:
        raise InputError(
            f"--cluster {name}: dragstrip.clusters.{name} of Dask's configuration makes no cluster "
            f"({type(error).__name__}: {error}); {_EXAMPLE}"
        ) from None


class _Reasons(logging.Handler):
    """Reports why a logged error happened, without its traceback, and each reason once."""

    def __init__(self, subject: str, said: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._subject = subject
        self._said = said
        self._known: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        reason = " ".join(str(error or record.getMessage()).split())
        kind = _TEMPORARY.sub("", reason)
        if kind not in self._known:
            self._known.add(kind)
            self._said(f"{self._subject}: {reason}")


@contextlib.contextmanager
def _errors_to(handler: logging.Handler) -> Iterator[None]:
    """Send what the `_NOISY` loggers log to `handler` while the context is open."""
    warnings.filterwarnings("ignore", r"\s*Port \d+ is already in use", UserWarning)
    loggers = [logging.getLogger(name) for name in _NOISY]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    try:
        yield
    finally:
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
