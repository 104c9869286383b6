"""PIE and DualPI2 with what the kernel does otherwise than the RFCs, one deviation at a time.

Written from the pseudocode of RFC 8033 (appendix A) and RFC 9332 (appendix A), and where a
deviation is switched on from sch_pie.c and sch_dualpi2.c of Linux 7.2. With none of them it does
what the link does, with all of them what the kernel does: so it tells which deviation makes which
difference.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

MTU = 1514
MS = 1_000_000


@dataclass
class Waiting:
    index: int
    at_ns: int
    size: int
    ecn: int
    marked: bool = False


class Queue:
    """A queue before a line. `take` returns the packet that goes next, and drops others."""

    def __init__(self, seed: int, deviations: frozenset[str]) -> None:
        self.random = random.Random(seed).random
        self.does = deviations

    def put(self, packet: Waiting) -> bool:
        raise NotImplementedError

    def take(self, now_ns: int) -> Waiting | None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


def fates(
    packets: Sequence[tuple[int, int, int, int]], queue: Queue, rate_mbps: float
) -> list[tuple[int | None, bool]]:
    """How long each packet waited (None if it was dropped), and whether it was marked."""
    found: list[tuple[int | None, bool]] = [(None, False)] * len(packets)
    free_ns = 0.0

    def serve(until_ns: float) -> None:
        nonlocal free_ns
        while len(queue) and free_ns <= until_ns:
            now = int(free_ns)
            packet = queue.take(now)
            if packet is None:
                return
            found[packet.index] = (now - packet.at_ns, packet.marked)
            free_ns += packet.size * 8e3 / rate_mbps

    for index, (at_ns, _, ecn, size) in enumerate(packets):
        serve(at_ns)
        free_ns = max(free_ns, at_ns)
        queue.put(Waiting(index, at_ns, size + 14, ecn))
        serve(at_ns)
    serve(float("inf"))
    return found


PIE = {
    "250 ms": "above 250 ms of delay the probability grows by 2 % more in each period",
    "cap": "the probability has no limit at 1: it is 2^56, and only 2^64 is checked",
    "tick": "a timer of 15 ticks of the clock comes every 16 (1000 ticks/s)",
    "calm": "the last packet's delay decides whether all is calm, not that of the last update",
    "burst": "the burst's allowance is used up by time between departures, not by updates",
    "decay": "two delays of 0 take 1/64 off the probability, not 2 %",
    "backlog": "two delays of 0 take nothing off while a packet waits",
}


class Pie(Queue):
    def __init__(self, seed: int, deviations: frozenset[str], ecn: bool) -> None:
        super().__init__(seed, deviations)
        self.ecn, self.waiting, self.bytes = ecn, deque[Waiting](), 0
        self.p = self.sum = self.delay = self.old = 0.0
        self.burst, self.left_ns = 150.0, -1
        self.period = (16 if "tick" in deviations else 15) * MS
        self.next_ns = self.period

    def __len__(self) -> int:
        return len(self.waiting)

    def advance(self, now_ns: int) -> None:
        while self.next_ns <= now_ns:
            self.next_ns += self.period
            self.update()

    def update(self) -> None:
        step = 0.125 * (self.delay - 15) / 1e3 + 1.25 * (self.delay - self.old) / 1e3
        if self.p < 0.1:
            step /= 2
            for bound in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
                step /= 4 if self.p < bound else 1
        if self.p >= 0.1:
            step = min(step, 0.02)
        if "250 ms" in self.does and self.delay > 250:
            step += 0.02
        self.p = min(max(self.p + step, 0.0), 256.0 if "cap" in self.does else 1.0)
        if self.delay == 0 == self.old and not ("backlog" in self.does and self.waiting):
            self.p *= 63 / 64 if "decay" in self.does else 0.98
        if "burst" not in self.does:
            self.burst = max(self.burst - 15, 0.0)
        if self.p == 0 and self.delay < 7.5 and self.old < 7.5:
            self.burst, self.left_ns = 150.0, -1
        self.old = self.delay

    def hits(self) -> bool:
        calm = self.delay if "calm" in self.does else self.old
        if self.burst > 0 or (calm < 7.5 and self.p < 0.2) or self.bytes < 2 * MTU:
            return False
        self.sum = self.sum + self.p if self.p else 0.0
        if self.sum < 0.85 or (self.sum < 8.5 and self.random() >= self.p):
            return False
        self.sum = 0.0
        return True

    def put(self, packet: Waiting) -> bool:
        self.advance(packet.at_ns)
        if self.hits():
            if not (self.ecn and self.p < 0.1 and packet.ecn):
                return False
            packet.marked = True
        self.waiting.append(packet)
        self.bytes += packet.size
        return True

    def take(self, now_ns: int) -> Waiting | None:
        self.advance(now_ns)
        packet = self.waiting.popleft()
        self.bytes -= packet.size
        self.delay = (now_ns - packet.at_ns) / MS if self.waiting else 0.0
        if "burst" in self.does:
            if self.left_ns >= 0:
                self.burst = max(self.burst - (now_ns - self.left_ns) / MS, 0.0)
            self.left_ns = now_ns
        return packet


DUALPI2 = {
    "alone": "the step marks a packet that waited alone in its queue, too",
    "chance": "each packet draws its own lot; RFC 9332's recur spreads marks evenly",
    "floor": "with less than two full packets queued none is marked or dropped by probability",
    "credit": "an empty queue gives the L4S queue a head start of 80 packets' bytes",
    "both": "the step and the coupled probability mark independently, not the larger of both",
}


@dataclass
class Half:
    waiting: deque[Waiting] = field(default_factory=deque)
    count: float = 0.0


class DualPi2(Queue):
    def __init__(self, seed: int, deviations: frozenset[str]) -> None:
        super().__init__(seed, deviations)
        self.l4s, self.classic = Half(), Half()
        self.bytes, self.p, self.prev = 0, 0.0, 0.0
        self.next_ns = 16 * MS
        self.rest = -80 * MTU if "credit" in deviations else 0
        self.credit = self.rest

    def __len__(self) -> int:
        return len(self.l4s.waiting) + len(self.classic.waiting)

    def advance(self, now_ns: int) -> None:
        while self.next_ns <= now_ns:
            at_ns, self.next_ns = self.next_ns, self.next_ns + 16 * MS
            heads = [half.waiting[0].at_ns for half in (self.l4s, self.classic) if half.waiting]
            delay = max((at_ns - head for head in heads), default=0) / 1e9
            self.p += 0.16 * (delay - 0.015) + 3.2 * (delay - self.prev)
            self.p = min(max(self.p, 0.0), 1.0)
            self.prev = delay

    def put(self, packet: Waiting) -> bool:
        self.advance(packet.at_ns)
        (self.l4s if packet.ecn & 1 else self.classic).waiting.append(packet)
        self.bytes += packet.size
        return True

    def lot(self, half: Half, likely: float) -> bool:
        if "chance" in self.does:
            return self.random() < likely
        half.count += likely
        met = half.count > 1
        half.count -= met
        return met

    def take(self, now_ns: int) -> Waiting | None:
        self.advance(now_ns)
        while len(self):
            packet = self.pick(now_ns)
            if packet:
                if not len(self):
                    self.credit = self.rest
                return packet
        return None

    def pick(self, now_ns: int) -> Waiting | None:
        l4s, classic = self.l4s.waiting, self.classic.waiting
        contended = bool(l4s and classic)
        mine = l4s if l4s and (not classic or self.credit <= 0) else classic
        alone = len(mine) == 1
        packet = mine.popleft()
        self.bytes -= packet.size
        if contended:
            self.credit += (10 if mine is l4s else -90) * packet.size
        few = "floor" in self.does and self.bytes < 2 * MTU
        coupled, squared = (0.0, 0.0) if few else (2 * self.p, self.p**2)
        if mine is classic:
            if self.lot(self.classic, squared):
                if not packet.ecn or coupled >= 1:
                    return None
                packet.marked = True
            return packet
        stepped = now_ns - packet.at_ns > MS and ("alone" in self.does or not alone)
        if coupled >= 1:
            if self.lot(self.l4s, squared):
                return None
            packet.marked = True
        elif "both" in self.does:
            packet.marked = self.lot(self.l4s, coupled) or stepped
        else:
            packet.marked = self.lot(self.l4s, max(coupled, float(stepped)))
        return packet


Maker = Callable[[int, frozenset[str]], Queue]


def each(known: dict[str, str]) -> Iterator[tuple[str, frozenset[str]]]:
    """No deviation, each alone, and all."""
    yield "none of these: the RFC", frozenset()
    for name, told in known.items():
        yield told, frozenset({name})
    yield "all of these", frozenset(known)
