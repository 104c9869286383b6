"""Does the gate find a slower build of a server, and let an equal one pass?

    uv run python bench/visits/own_builds.py [TRIES] [BLOCKS]

Two builds of a small server of Python's own library (tests/programs/tiny_server.py), brought by
`--server`, are raced in one study: equal ones, and one that waits 20 ms before each response. Each
try is a separate race with another seed, and `compare --pair` with a gate at 5 %. Prints how many
of the planted were found and how many of the equal passed; exits with 1 unless all were.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

TINY = Path(__file__).parents[2] / "tests" / "programs" / "tiny_server.py"
DRAGSTRIP = [sys.executable, "-c", "from dragstrip.cli import main; main()"]


def gate(folder: Path, seed: int, blocks: int, *, planted: bool) -> int:
    """The exit code of `compare`: 1 if the new build failed."""
    server = f"{sys.executable} {TINY} {{config}}"
    new = f"{server} --wait 0.02" if planted else server
    race = ["race", "synth:12x10KB", "--network", "LTE", "--stack", "h1", "--runs", str(blocks)]
    race += ["--server", f"old={server}", "--server", f"new={new}", "--seed", str(seed)]
    race += ["--no-calibrate", "--out", str(folder)]
    subprocess.run([*DRAGSTRIP, *race], check=True, capture_output=True)
    compare = ["compare", str(folder), "--pair", "old-h1:new-h1", "--fail-if", "slower > 5%"]
    return subprocess.run([*DRAGSTRIP, *compare], capture_output=True).returncode


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    blocks = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    begun = time.monotonic()
    found = passed = 0
    for seed in range(tries):
        for planted in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                failed = gate(Path(folder) / "capsule", seed, blocks, planted=planted) == 1
            found += planted and failed
            passed += not planted and not failed
        done = f"{seed + 1} tries: planted {found} found, equal {passed} passed"
        print(f"{done}; {time.monotonic() - begun:.0f} s", flush=True)
    sys.exit(0 if found == passed == tries else 1)


if __name__ == "__main__":
    main()
