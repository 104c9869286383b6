"""Connects to the scheduler that `--cluster` names."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import dask
from distributed import Client, LocalCluster

from dragstrip.execution.dask.named import named
from dragstrip.execution.dask.setup import RESOURCE
from dragstrip.model.errors import InputError

_TIMEOUT_S = 10


@contextlib.contextmanager
def connected(address: str, said: Callable[[str], None]) -> Iterator[Client]:
    """Yield a client of the scheduler at `address`. The address ``local:N`` starts N workers here,
    which end with the context. ``tcp://...`` is a running scheduler. Anything else names an entry
    under `dragstrip.clusters` of Dask's configuration. `said` is called with the reason if workers
    cannot be started.

    Raises `InputError` if there is no such entry, or if the scheduler does not answer.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say what matters
    with contextlib.ExitStack() as opened:
        target: Any = address
        if address.startswith("local:"):
            target = opened.enter_context(_local(address))
        elif "://" not in address:
            target = opened.enter_context(named(address, said))
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
