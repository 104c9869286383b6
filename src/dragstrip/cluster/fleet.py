"""The executor whose machines are the workers of a Dask cluster."""

import contextlib
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

from distributed import Client, Future
from distributed.client import ClosedClientError
from msgspec import structs

from dragstrip.cluster import bench
from dragstrip.cluster.bench import Abandoned, NotOpen, Opened, Setup
from dragstrip.cluster.crew import Crew, Machine, Worker
from dragstrip.cluster.gate import Gate
from dragstrip.cluster.words import RESOURCE
from dragstrip.model.calibration import Calibration
from dragstrip.model.errors import InputError
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.admission import Admits, Company
from dragstrip.schedule.executor import Answer
from dragstrip.schedule.host import Host
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.errors import TestbedError

_LOOK_S = 1.0
"""How often the scheduler is asked who is there."""
_UNREACHED_S = 15.0
"""After which the scheduler is given up."""
_FETCH_S = 10.0
_CLOSE_S = 20.0
_TRIES = 3
"""Machines on which an attempt breaks before it is the attempt that is at fault."""

_GONE = (
    "the cluster's scheduler is gone; start it and give the same command again: what was made stays"
)

Then = Callable[[Worker, Future], Iterable[Answer]]
"""What to do when a task of a worker is done."""


class Fleet:
    """Pins each attempt to a worker that has room for it, so that the rule of every machine holds.

    `ahead` more attempts wait on each worker, which is right only where attempts do not mind each
    other. What a lost worker was making is given back. If it comes back later, its results are not
    taken.
    """

    def __init__(
        self,
        client: Client,
        setup: Setup,
        out: Path,
        gate: Gate,
        *,
        admission: Callable[[Fingerprint, int], Admits],
        company: Callable[[Admits], Company],
        calibrate: bool,
        ahead: int,
        admitted: Callable[[Fingerprint], None],
        tell: Callable[[str], None],
    ) -> None:
        self._client = client
        self._setup = setup
        self._out = out
        self._gate = gate
        self._admission = admission
        self._company = company
        self._calibrate = calibrate
        self._ahead = ahead
        self._admitted = admitted
        self._tell = tell
        self._crew = Crew()
        self._tasks: dict[str, tuple[Future, Worker, Then]] = {}
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._number = 0
        self._looked = self._reached = 0.0
        self._lacking: deque[Worker] = deque()
        """Workers that wait for pages; one is sent them at a time."""
        self._at_hand: tuple[Any] | None = None
        """The result that is next, if it was fetched already."""
        self._broke: dict[Attempt, int] = {}
        self._waiting_told = False

    @property
    def hosts(self) -> Sequence[Host]:
        return self._crew.hosts

    def browser(self, machine: str, stack: str) -> str:
        return self._crew.machines[machine].fingerprint.browsers.get(stack, "")

    def begin(self, host: Host, attempt: Attempt) -> None:
        worker = self._crew.free(host)
        worker.running.add(attempt)
        key = self._key("attempt")

        def then(worker: Worker, future: Future) -> Iterable[Answer]:
            return self._made(worker, attempt, future)

        args = (self._setup.token, key, attempt)
        self._submit(worker, then, bench.make, *args, key=key, resources={RESOURCE: 1})

    def answers(self, seconds: float | None) -> Iterator[Answer]:
        deadline = time.monotonic() + (inf if seconds is None else seconds)
        changed = False
        while not changed:
            if time.monotonic() > self._looked + _LOOK_S:
                before = self._crew.ready
                yield from self._look()
                changed = self._crew.ready != before
            patience = min(_LOOK_S, deadline - time.monotonic())
            finished = self._finished(0.0 if changed else patience)
            fetched = self._fetch(finished)
            for future in finished:
                changed = True
                if known := self._tasks.pop(future.key, None):
                    _, worker, then = known
                    self._at_hand = fetched.get(future.key)
                    yield from then(worker, future)
            changed = changed or time.monotonic() >= deadline

    def close(self) -> None:
        """Ends all testbeds, as far as their workers can be reached."""
        if self._client.status != "running":
            return
        for future, _, _ in self._tasks.values():
            self._drop(future)
        self._tasks.clear()
        ends = [
            self._client.submit(
                bench.close,
                self._setup.token,
                workers=[worker.address],
                key=self._key("close"),
                pure=False,
            )
            for worker in self._crew.workers.values()
            if worker.accepted
        ]
        deadline = time.monotonic() + _CLOSE_S
        for end in ends:
            try:
                left = end.result(timeout=max(0.1, deadline - time.monotonic()))
            except Exception:  # whatever it is, the worker's testbeds end with it, or when idle
                continue
            self._store(left)

    def _look(self) -> Iterator[Answer]:
        """Who is there, and who is not any more."""
        self._looked = time.monotonic()
        known = self._known()
        if known is None:
            return
        for worker in list(self._crew.workers.values()):
            if worker.stale or worker.address not in known:
                yield from self._lose(worker)
        for address in known:
            if address not in self._crew.workers:
                self._open(self._crew.join(address))
        self._check_hope()

    def _known(self) -> set[str] | None:
        """Addresses of all workers; None if the scheduler does not answer now. Raises
        `TestbedError` if it has not for long."""
        now = time.monotonic()
        self._reached = self._reached or now
        if self._client.status == "running":
            try:
                info = self._client.sync(
                    self._client.scheduler.identity, n_workers=-1, callback_timeout=_FETCH_S
                )
                self._reached = time.monotonic()
                return {address for address, w in info["workers"].items() if _runs(w)}
            except (OSError, TimeoutError):
                pass
        if now - self._reached > _UNREACHED_S or self._client.status == "closed":
            raise TestbedError(_GONE)
        return None

    def _check_hope(self) -> None:
        """Raises `TestbedError` if there are machines and none of them may make visits."""
        workers = self._crew.workers.values()
        if workers and all(worker.refused for worker in workers):
            reasons = dict.fromkeys(worker.refused for worker in workers)
            raise TestbedError(f"no machine of the cluster can make visits: {'; '.join(reasons)}")
        if not workers and not self._waiting_told:
            self._waiting_told = True
            self._tell("the cluster has no workers now; waiting for some")

    def _open(self, worker: Worker) -> None:
        self._send(worker, self._opened, bench.open_bench, self._setup)

    def _opened(self, worker: Worker, future: Future) -> Iterable[Answer]:
        opened: Opened | None = self._result(worker, future)
        if opened is not None:
            worker.fingerprint, worker.lacks = opened.fingerprint, opened.lacks
            worker.slots, worker.ahead = opened.slots, self._ahead
        if opened is not None and worker.accepted:
            self._seat(worker)
        else:
            self._judge()
        return ()

    def _judge(self) -> None:
        """Once it is known what all are, for most of them decide what others must be like."""
        workers = list(self._crew.workers.values())
        if any(not w.fingerprint and not w.refused for w in workers):
            return
        candidates = [w for w in workers if not w.accepted and not w.refused]
        among = [w.fingerprint for w in candidates if w.fingerprint]
        for worker in candidates:
            assert worker.fingerprint
            if reason := self._gate.refusal(worker.fingerprint, among):
                self._refuse(worker, reason)
            else:
                worker.accepted = True
                self._seat(worker)

    def _seat(self, worker: Worker) -> None:
        """It may make visits; as soon as it has all pages, and its machine's link is measured."""
        if worker.lacks:
            self._lacking.append(worker)
            if len(self._lacking) == 1:
                self._send_page(worker)
            return
        machine = self._crew.machine_of(worker)
        machine.workers.append(worker)
        if machine.host:
            self._make_room(machine)
            self._prepare(worker, machine.host)
        self._measure_new()

    def _send_page(self, worker: Worker) -> None:
        digest, *rest = worker.lacks
        worker.lacks = tuple(rest)
        page = next(p for p in self._setup.study.pages if p.digest == digest)
        self._send(worker, self._page_sent, bench.store_page, page.path.read_bytes(), digest)

    def _page_sent(self, worker: Worker, future: Future) -> Iterable[Answer]:
        failed = future.status != "finished"
        if failed:
            self._result(worker, future)
        elif worker.lacks:
            self._send_page(worker)
            return ()
        self._pages_over()
        return ()

    def _pages_over(self) -> None:
        """The next ones may be on a machine that has the pages by now, so all look again."""
        again = [w for w in self._lacking if not w.refused and w.address in self._crew.workers]
        self._lacking.clear()
        for worker in again:
            self._open(worker)

    def _measure_new(self) -> None:
        """By one worker of each machine that nobody measures."""
        for machine in self._crew.machines.values():
            if not machine.host and machine.workers and machine.measuring not in machine.workers:
                self._measure(machine.workers[0], machine)

    def _measure(self, worker: Worker, machine: Machine) -> None:
        machine.measuring = worker
        if not self._calibrate:
            self._take_on(machine)
            return

        def then(worker: Worker, future: Future) -> Iterable[Answer]:
            found: Calibration | None = self._result(worker, future)
            if found is not None:
                machine.fingerprint = structs.replace(machine.fingerprint, calibration=found)
                if found.good:
                    self._take_on(machine)
                else:
                    bad = next(r for r in found.readings if not r.good)
                    for one in list(machine.workers):
                        self._refuse(one, f"its link is out of tolerance: {bad.describe()}")
            self._measure_new()
            return ()

        self._submit(worker, then, bench.calibrate, self._setup.token)

    def _take_on(self, machine: Machine) -> None:
        self._admitted(machine.fingerprint)
        self._make_room(machine)
        assert machine.host
        for worker in machine.workers:
            self._prepare(worker, machine.host)

    def _make_room(self, machine: Machine) -> None:
        """The machine's own rule, for as many attempts as its workers have room for."""
        room = sum(worker.room for worker in machine.workers)
        admission = self._admission(machine.fingerprint, room)
        if machine.host:
            machine.host.admission = admission
        else:
            machine.host = Host(admission, machine.fingerprint.machine.id, slots=0)

    def _prepare(self, worker: Worker, host: Host) -> None:
        company = self._company(host.admission)
        seats = min(company.workers, worker.slots)
        if not seats:
            self._crew.ready_now(worker, host)
            return

        def then(worker: Worker, future: Future) -> Iterable[Answer]:
            self._result(worker, future)
            if not worker.refused:
                self._crew.ready_now(worker, host)
            return ()

        self._submit(worker, then, bench.prepare, self._setup.token, seats, company.pages)

    def _made(self, worker: Worker, attempt: Attempt, future: Future) -> Iterable[Answer]:
        assert worker.host
        worker.running.discard(attempt)
        result: bench.Result | None = self._result(worker, future, attempt)
        if result is None:
            return [Answer(host=worker.host, attempt=attempt, over=True)]
        self._store(result.files)
        return [Answer(host=worker.host, attempt=attempt, made=result.made, over=True)]

    def _lose(self, worker: Worker) -> Iterator[Answer]:
        """It died, or fell silent, or was started anew."""
        for key, (future, owner, _) in list(self._tasks.items()):
            if owner is worker:
                del self._tasks[key]
                self._drop(future)
        lost = list(worker.running)
        host = worker.host
        self._crew.leave(worker)
        for attempt in lost:
            assert host
            yield Answer(host=host, attempt=attempt, over=True)
        if worker in self._lacking:
            self._pages_over()
        self._judge()
        self._measure_new()

    def _result(self, worker: Worker, future: Future, attempt: Attempt | None = None) -> Any:
        """What a task returned; None if it is lost. A worker that cannot do it is refused.

        Raises `InputError`, and `TestbedError` for an attempt that breaks wherever it is made.
        """
        try:
            return self._fetched(worker, future)
        except NotOpen:
            worker.stale = True
        except (_Lost, Abandoned):
            pass
        except Exception as error:
            foreseen = isinstance(error, TestbedError | InputError)
            reason = str(error) if foreseen else repr(error)
            if attempt:
                if isinstance(error, InputError):
                    raise
                self._broke[attempt] = self._broke.get(attempt, 0) + 1
                if self._broke[attempt] == _TRIES:
                    raise TestbedError(f"block {attempt.block.id}: {reason}") from error
            self._refuse(worker, reason)
        return None

    def _fetch(self, finished: Sequence[Future]) -> dict[str, Any]:
        """Several results at once, which takes hardly longer than one; none if that fails."""
        good = [f for f in finished if f.status == "finished" and f.key in self._tasks]
        if len(good) < 2:
            return {}

        async def fetch() -> list[Any]:
            found: list[Any] = await self._client.gather(good, asynchronous=True)
            return found

        try:
            found = self._client.sync(fetch, callback_timeout=_FETCH_S)
        except Exception:  # each says by itself what is wrong
            return {}
        return {future.key: (value,) for future, value in zip(good, found, strict=True)}

    def _fetched(self, worker: Worker, future: Future) -> Any:
        """Does not wait for a worker that died between its answer and this."""
        if self._at_hand:
            return self._at_hand[0]
        while future.status in ("finished", "error"):
            try:
                return future.result(timeout=_FETCH_S)
            except TimeoutError:
                known = self._known()
                if known is not None and worker.address not in known:
                    raise _Lost from None
        raise _Lost

    def _refuse(self, worker: Worker, reason: str) -> None:
        worker.refused = reason
        self._crew.dismiss(worker)
        name = worker.fingerprint.machine.id if worker.fingerprint else "?"
        self._tell(f"machine {name} at {worker.address} makes no visits: {reason}")

    def _drop(self, future: Future) -> None:
        """Nobody waits for it any longer, if there is still somebody to tell."""
        with contextlib.suppress(ClosedClientError, OSError, TimeoutError):
            future.cancel()

    def _store(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            target = self._out / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(data)

    def _send(
        self, worker: Worker, then: Then, task: Callable[..., Any], large: Any, *rest: Any
    ) -> None:
        """A task whose first argument is too large for the scheduler to keep."""
        try:
            there = self._client.scatter(large, workers=[worker.address], hash=False)
        except (ClosedClientError, OSError, TimeoutError, KeyError, ValueError):
            worker.stale = True  # it went meanwhile
            return
        self._submit(worker, then, task, there, *rest)

    def _submit(
        self, worker: Worker, then: Then, task: Callable[..., Any], *args: Any, **options: Any
    ) -> None:
        options.setdefault("key", self._key(task.__name__))
        try:
            future = self._client.submit(
                task,
                *args,
                workers=[worker.address],
                allow_other_workers=False,
                pure=False,
                **options,
            )
        except ClosedClientError:
            raise TestbedError(_GONE) from None
        self._tasks[future.key] = future, worker, then
        future.add_done_callback(self._done.put)

    def _key(self, what: str) -> str:
        self._number += 1
        return f"{what}-{self._setup.token}-{self._number}"

    def _finished(self, seconds: float) -> list[Future]:
        """Those that are done, waiting at most so long for the first."""
        found = []
        try:
            found.append(self._done.get(timeout=max(0.001, seconds)))
            while True:
                found.append(self._done.get_nowait())
        except queue.Empty:
            return found


class _Lost(Exception):
    """Nobody will answer."""


def _runs(worker: Any) -> bool:
    return bool(worker.get("status", "running") == "running")
