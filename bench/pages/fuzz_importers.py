"""Mutated recordings of every kind: each is imported or refused in one line.

uv run python bench/pages/fuzz_importers.py [files | 60m] [seed] [more recordings to mutate...]
"""

import gzip
import io
import json
import random
import resource
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dragstrip.model.errors import InputError
from dragstrip.pages.format import zstd
from dragstrip.pages.resolve import import_page

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from made_archives import kinds, place
from recordings import SEEDS

SLOW_S = 20.0
_SPICE = (b"\0", b"\xff" * 4, b"-1", b"1e999", b"null", b"{}", b"[]", b'"', b"\r\n", b"99999999999")


_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 10**12, 2**70, 1.5, "", "x", "\ud800", "/", "//", "https://"),
    *("http://[::1", "https://a.test/", "https://A.TEST:443/#x", "https://10.0.0.1/", "data:,x"),
    *("302", 302, 304, 206, 204, 600, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"),
    *("gzip", "br", "text/html", "image/png", "font/woff2", "image/svg+xml", [], {}, [[]], [{}]),
)


Files = dict[str, bytes]
"""The files of one recording, by their names."""


def main() -> None:
    asked, seed = [*sys.argv[1:3], *["10000", "1"][len(sys.argv[1:3]) :]]
    minutes = int(asked[:-1]) if asked.endswith("m") else None
    draw = random.Random(int(seed))
    # A mutant must not take the machine down before it is noticed.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    seeds: dict[str, Files] = {n: {n: d} for n, d in SEEDS.items() if "/" not in n}
    seeds |= {n: files for n, files in kinds().items() if "#" not in n}
    seeds |= {Path(f).name: {Path(f).name: Path(f).read_bytes()} for f in sys.argv[3:]}
    counts: Counter[str] = Counter()
    slowest = (0.0, "")
    ends = time.monotonic() + 60 * (minutes or 0)
    number = 0
    while time.monotonic() < ends if minutes else number < int(asked):
        name = list(seeds)[number % len(seeds)]
        files = mutant(seeds[name], draw)
        with TemporaryDirectory() as folder:
            place(Path(folder), files)
            begun = time.monotonic()
            outcome = attempt(Path(folder) / name, Path(folder) / "out.har.zip")
            took = time.monotonic() - begun
            slowest = max(slowest, (took, f"{name}, mutant {number}"))
            counts[f"{name}: {outcome}"] += 1
            if took > SLOW_S or outcome.startswith("CRASH"):
                keep = Path(f"crash-{number}")
                place(keep, files)
                sys.exit(f"{name}, mutant {number}: {outcome} after {took:.1f} s; kept as {keep}")
        number += 1
    for outcome, n in sorted(counts.items()):
        print(f"{n:6} {outcome}")
    print(f"{number} mutants, no crash; the slowest took {slowest[0]:.2f} s ({slowest[1]})")


def mutant(files: Files, draw: random.Random) -> Files:
    """The recording with one of its files mutated."""
    name = draw.choice(sorted(files))
    return files | {name: mutated(name, files[name], draw)}


def attempt(file: Path, out: Path) -> str:
    try:
        import_page(file, out)
    except InputError as error:
        return "refused" if "\n" not in str(error) else f"CRASH two lines: {error}"
    except Exception as error:
        return f"CRASH {error!r}"
    return "imported"


def mutated(name: str, data: bytes, draw: random.Random) -> bytes:
    """A mutant: half of them inside, before it is packed, half of them of the file itself.

    What is inside a HAR stays JSON as often as not, with awkward values in odd places.
    """
    if draw.random() < 0.5:
        return scratched(data, draw)
    if name.endswith((".zip", ".wacz")):
        return repacked(data, draw)
    if name.endswith(".gz"):
        return gzip.compress(mutated(name[:-3], gzip.decompress(data), draw), 1, mtime=0)
    if name.endswith(".har.zst"):
        inside = zstd.ZstdDecompressor().decompress(data)
        return zstd.compress(mutated(name[:-4], inside, draw))
    if name.endswith(".har"):
        tree = json.loads(data)
        for _ in range(draw.randint(1, 4)):
            bend(tree, draw)
        return json.dumps(tree).encode()
    return scratched(data, draw)


def repacked(data: bytes, draw: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for member in old.namelist():
            new.writestr(member, mutated(member, old.read(member), draw))
    return file.getvalue()


def bend(tree: Any, draw: random.Random) -> None:
    """Change, remove or copy one value somewhere below."""
    while isinstance(tree, dict | list) and tree:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = draw.choice(keys)
        if not isinstance(tree[key], dict | list) or draw.random() < 0.15:
            match draw.randrange(3):
                case 0:
                    del tree[key]
                case 1 if isinstance(tree, list):
                    tree.append(tree[key])
                case _:
                    tree[key] = draw.choice(_VALUES)
            return
        tree = tree[key]


def scratched(data: bytes, draw: random.Random) -> bytes:
    """A few cuts, copies, flips and awkward values."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(made) + 1)
        to = min(len(made), at + int(draw.paretovariate(1.0)))
        match draw.randrange(6):
            case 0:
                del made[at:to]
            case 1:
                made[at:at] = draw.choice(_SPICE)
            case 2:
                made[at:to] = draw.choice(_SPICE)
            case 3 if at < len(made):
                made[at] ^= 1 << draw.randrange(8)
            case 4:
                made[at:at] = made[at:to][:10_000]
            case _:
                made[at : at + 4] = draw.randbytes(4)
    return bytes(made[: draw.randrange(len(made) + 1)] if draw.random() < 0.1 else made)


if __name__ == "__main__":
    main()
