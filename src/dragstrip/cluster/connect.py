"""From what `--cluster` says to a client of a running scheduler."""

import contextlib
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import dask
from distributed import Client, LocalCluster

from dragstrip.cluster.words import RESOURCE
from dragstrip.model.errors import InputError

_TIMEOUT_S = 10
_EXAMPLE = "docs/howto/cluster.md shows an entry"


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """``local:N`` starts N workers here, which end with this; ``tcp://...`` is a scheduler that
    runs; anything else names an entry under `dragstrip.clusters` of Dask's configuration.

    Raises `InputError` if there is no such thing, or if nothing answers.
    """
    with contextlib.ExitStack() as opened:
        target: Any = address
        if address.startswith("local:"):
            target = opened.enter_context(_local(address))
        elif "://" not in address:
            target = opened.enter_context(_named(address))
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say what matters
        try:
            client = Client(target, timeout=_TIMEOUT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"--cluster {address}: no scheduler answers ({error})") from None
        with client:
            yield client


def _local(address: str) -> Any:
    workers = address.removeprefix("local:")
    if not workers.isdecimal() or int(workers) < 1:
        raise InputError(f"--cluster {address}: give a number of workers, like local:3")
    ours = {
        "distributed.scheduler.worker-ttl": "60s",
        "distributed.worker.profile.enabled": False,  # it samples a hundred times a second
    }
    with dask.config.set(ours):
        return LocalCluster(
            n_workers=int(workers),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            resources={RESOURCE: 1},
            silence_logs=logging.CRITICAL,
        )


@contextlib.contextmanager
def _named(name: str) -> Iterator[Any]:
    known = dask.config.get("dragstrip.clusters", {}) or {}
    if name not in known:
        said = f"it knows {', '.join(sorted(known))}" if known else "it knows none"
        raise InputError(
            f"--cluster {name}: Dask's configuration has no such entry under dragstrip.clusters "
            f"({said}); {_EXAMPLE}, or give an address like tcp://HOST:8786, or local:3"
        )
    entry = known[name]
    try:
        module, _, kind = str(entry["class"]).rpartition(".")
        made = getattr(import_module(module), kind)(**entry.get("arguments", {}))
    except (KeyError, TypeError, ValueError, ImportError, AttributeError) as error:
        raise InputError(
            f"--cluster {name}: dragstrip.clusters.{name} of Dask's configuration makes no cluster "
            f"({type(error).__name__}: {error}); {_EXAMPLE}"
        ) from None
    with made as cluster:
        if "workers" in entry:
            cluster.scale(entry["workers"])
        yield cluster
