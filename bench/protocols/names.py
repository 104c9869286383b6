"""First byte of a page whose name a resolver answers: arithmetic beside measurement.

    uv run python bench/protocols/names.py FOLDER [--write] [--made]

Browsers load a page in virtual time, without computing, with resolvers 20, 50 and 200 ms
away; then again where the path to the resolver loses the browser's first packet. Which packets a
path loses is a function of the seed (crates/link/src/model/draw.rs), so the bench looks for a seed
that loses the first and no other, and each visit's evidence (`loss_fates`) must agree. FOLDER keeps
the capsules, so an interrupted bench goes on; `--made` shows what it has so far. `--write` puts
docs/reference/names.md there.
"""

import argparse
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

import dragstrip
from dragstrip.model.study import block_id
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "names.md"
RESOLVERS_MS = (20, 50, 200)
"""Round trips to the resolver."""
STACKS = {
    "shell": ("headless shell, h2", "h2", "chromium-headless-shell"),
    "whole": ("Chromium, h2", "h2", "chromium"),
    "quic": ("Chromium, h3", "h3", "chromium"),
}
"""Each stack's words, base and browser. Headless shell cannot ask by HTTPS."""
USED = {"udp": ("shell", "whole"), "doh": ("whole", "quic")}
ASKED = {"udp": "UDP", "doh": "HTTPS"}
ROUND_TRIPS = {"udp": 1, "doh": 3}
"""Round trips to the resolver: by HTTPS, one for TCP, one for TLS and one for the query."""
AGAIN_MS = {"shell": 5005.0}
"""How long a browser waits for what it lost: getaddrinfo 5 s, of which Linux makes a thousandth
more. The whole Chromium begins with several packets, and the one that is lost holds up no page."""
LOST = 0.02
"""Share of packets that the path loses in the rows with a loss."""
WATCHED = 60
"""Packets each way that a look-up may take: all but the first must pass."""
NEAR_MS = 1.0
NAME, CALLED = "synth:1x10KB", "synth-1x10KB"
LTE = "queue_ms = 200, delay_ms = 37"


class Row(Struct, frozen=True):
    stack: str
    asked: str
    resolver_ms: int
    lost: bool
    base_ms: float
    """First byte where names resolve at once."""
    measured_ms: float

    @property
    def expected_ms(self) -> float:
        again = AGAIN_MS.get(self.stack, 0.0) if self.lost else 0.0
        return self.base_ms + ROUND_TRIPS[self.asked] * self.resolver_ms + again

    @property
    def off_ms(self) -> float:
        return self.measured_ms - self.expected_ms


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--made", action="store_true")
    asked = parser.parse_args()
    text = "\n".join(page(measured(asked.folder, only_made=asked.made)))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")


def measured(folder: Path, *, only_made: bool) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    base: dict[str, float] = {}
    rows = []
    for name, stacks, networks, loss in studies():
        if not only_made:
            make(folder, name, stacks, networks, loss=loss)
        for visit in made(folder, name, loss=loss):
            ttfb = first_byte(visit)
            if visit.network == "none":
                base[visit.stack] = ttfb
                continue
            asked, ms = visit.network.split()
            rows.append(Row(visit.stack, asked, int(ms), loss, base[visit.stack], ttfb))
    order = [*STACKS]
    return sorted(
        rows, key=lambda r: (r.lost, order.index(r.stack), r.asked != "udp", r.resolver_ms)
    )


def studies() -> Iterator[tuple[str, Sequence[str], Sequence[str], bool]]:
    """Name, stacks, networks and loss of each study. A loss has its own seed, so its own study."""
    yield "none", list(STACKS), ["none"], False
    for asked in ASKED:
        networks = [f"{asked} {ms}" for ms in RESOLVERS_MS]
        yield asked, USED[asked], networks, False
        for network in networks:
            yield network.replace(" ", "-lost-"), USED[asked], [network], True


def first_byte(visit: Visit) -> float:
    assert visit.ttfb_ms is not None
    return visit.ttfb_ms


def make(
    folder: Path, name: str, stacks: Sequence[str], networks: Sequence[str], *, loss: bool
) -> None:
    study = folder / f"names-{name}.toml"
    seed = seed_that_loses_the_first(networks[0]) if loss else 60
    study.write_text("\n".join(study_lines(stacks, networks, seed, LOST if loss else 0.0)))
    dragstrip.run(study, out=folder / name, jobs=1)


def made(folder: Path, name: str, *, loss: bool) -> list[Visit]:
    """Return the visits of a study that was made. Raises `SystemExit` if one is invalid, or lost
    other packets than it should."""
    if not (folder / name).exists():
        return []
    visits = list(Capsule.open(folder / name).visits())
    for visit in visits:
        if visit.reasons:
            raise SystemExit(f"{name}, {visit.stack}: {visit.reasons}")
        if loss and not only_the_first(visit):
            raise SystemExit(f"{name}, {visit.stack}: the path lost other packets")
    return visits


def only_the_first(visit: Visit) -> bool:
    assert visit.names is not None
    path = visit.names.path
    return path.up.loss_fates.startswith("-") and (path.up.dropped, path.down.dropped) == (1, 0)


def study_lines(
    stacks: Sequence[str], networks: Sequence[str], seed: int, loss: float
) -> Iterator[str]:
    yield f'pages = ["{NAME}"]'
    yield f"networks = {quoted(networks)}"
    yield f"stacks = {quoted(stacks)}"
    yield "runs = 1"
    yield "controls = false"
    yield f"seed = {seed}"
    yield 'clock = { kind = "network" }'
    for network in networks:
        yield f'[network."{network}"]'
        yield f"down = {{ rate_mbps = 10.5, {LTE} }}"
        yield f"up = {{ rate_mbps = 2.8, {LTE} }}"
        if network != "none":
            asked, ms = network.split()
            yield f'dns = {{ transport = "{asked}", delay_ms = {int(ms) / 2:g}, loss = {loss} }}'
    for stack in stacks:
        _, base, browser = STACKS[stack]
        yield f"[stack.{stack}]"
        yield f'base = "{base}"'
        yield f'browser = "{browser}"'


def quoted(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


def seed_that_loses_the_first(network: str) -> int:
    """Return the least seed of a study whose first block loses the first packet up to the resolver,
    and no other of `WATCHED` packets each way."""
    for seed in itertools.count():
        block = random.Random(f"{seed}:{block_id(CALLED, network, 'first', 0)}")
        block.shuffle([*range(len(USED[network.split()[0]]))])
        drawn = block.getrandbits(48)
        up, down = ([draw(drawn, way, i) < LOST for i in range(WATCHED)] for way in (1, 2))
        if up[0] and not any(up[1:]) and not any(down):
            return seed
    raise AssertionError


GAMMA, MASK = 0x9E37_79B9_7F4A_7C15, 2**64 - 1


def mix(z: int) -> int:
    """SplitMix64's finaliser, as in crates/link/src/splitmix.rs."""
    z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB & MASK
    return z ^ (z >> 31)


def draw(seed: int, direction: int, index: int) -> float:
    stream = mix(mix(seed) ^ (direction * GAMMA & MASK))
    return (mix(stream + GAMMA * (index + 1) & MASK) >> 11) / 2**53


def page(rows: Sequence[Row]) -> Iterator[str]:
    yield "# The first byte with names: arithmetic and measurement"
    yield ""
    yield "    uv run python bench/protocols/names.py FOLDER --write"
    yield ""
    near = sum(abs(row.off_ms) <= NEAR_MS for row in rows)
    yield (
        f"{len(rows)} loads of `{NAME}` over `LTE`, first visits, all valid, in virtual time "
        f"without computing, one load each. {near} of {len(rows)} are within {NEAR_MS:g} ms of the "
        "arithmetic, which begins with the first byte where names resolve at once. A look-up by "
        "UDP takes one round trip to the resolver. The first by HTTPS takes three: TCP, TLS and "
        "the query. **Bold**: further off."
    )
    for lost, head in ((False, "Without loss"), (True, "The first packet lost")):
        if not any(row.lost == lost for row in rows):
            continue
        yield ""
        yield f"## {head}"
        yield ""
        if lost:
            yield (
                "The path to the resolver loses the browser's first packet and no other, by the "
                "link's own account of each packet (`loss_fates`). The headless shell asks one "
                "question and repeats it after 5 s. The whole Chromium begins with several "
                "packets. By UDP it is later by a fifth of the look-up: so long does it wait for "
                "the HTTPS record once it has the address. By HTTPS it is hardly later."
            )
            yield ""
        heads = ("browser, stack", "asks by", "resolver (round trip)", "arithmetic", "ms")
        yield f"| {' | '.join(heads)} | measured, ms |"
        yield "|---|---|---|---|---|---|"
        yield from (line(row) for row in rows if row.lost == lost)


def line(row: Row) -> str:
    times = ROUND_TRIPS[row.asked]
    said = f"{row.base_ms:.1f} + {f'{times} x ' if times > 1 else ''}{row.resolver_ms}"
    said += f" + {AGAIN_MS[row.stack]:g}" if row.lost and row.stack in AGAIN_MS else ""
    seen = f"{row.measured_ms:.1f}"
    seen = seen if abs(row.off_ms) <= NEAR_MS else f"**{seen}**"
    cells = (STACKS[row.stack][0], ASKED[row.asked], f"{row.resolver_ms} ms", said)
    return f"| {' | '.join(cells)} | {row.expected_ms:.1f} | {seen} |"


if __name__ == "__main__":
    main()
