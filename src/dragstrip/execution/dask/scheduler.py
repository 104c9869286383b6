"""Asks a Dask scheduler which workers it knows."""

import time
from typing import Any

from distributed import Client

from dragstrip.testbed.errors import TestbedError

FETCH_S = 10.0
_UNREACHED_S = 15.0
"""Seconds that the scheduler may be unreachable before dragstrip gives up on it."""
GONE = (
    "the cluster's scheduler is gone; start it and give the same command again: what was made stays"
)


class Scheduler:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._reached = 0.0

    def workers(self) -> set[str] | None:
        """Return the addresses of all workers; None if the scheduler does not answer now. Raises
        `TestbedError` if the scheduler has not answered for `_UNREACHED_S`."""
        now = time.monotonic()
        self._reached = self._reached or now
        if self._client.status == "running":
            try:
                info = self._client.sync(
                    self._client.scheduler.identity, n_workers=-1, callback_timeout=FETCH_S
                )
                self._reached = time.monotonic()
                return {address for address, w in info["workers"].items() if _runs(w)}
            except (OSError, TimeoutError):
                pass
        if now - self._reached > _UNREACHED_S or self._client.status == "closed":
            raise TestbedError(GONE)
        return None


def _runs(worker: Any) -> bool:
    return bool(worker.get("status", "running") == "running")
