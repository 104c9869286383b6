"""Runs the benches of the first table of README.md, and prints how long each took.

    uv run python bench

Exit code 1 if one failed; the others still run.
"""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("README.md")
FOLDER = ROOT / ".cache" / "bench"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    took: list[tuple[float, str]] = []
    failed = []
    for command in commands(LIST.read_text()):
        print(f"== {command}", flush=True)
        began = time.monotonic()
        argv = [sys.executable, *shlex.split(command)[1:]]
        if subprocess.run(argv, cwd=ROOT).returncode:
            failed.append(command)
        took.append((time.monotonic() - began, command))
    print()
    for seconds, command in took:
        print(f"{seconds / 60:5.1f} min  {command}{'  FAILED' if command in failed else ''}")
    print(f"{sum(seconds for seconds, _ in took) / 60:5.1f} min  in all")
    sys.exit(1 if failed else 0)


def commands(text: str) -> list[str]:
    """The commands of the first table."""
    first = text.split("\n## ")[1]
    return re.findall(r"^\| `(python .+?)` \|", first, re.MULTILINE)


if __name__ == "__main__":
    main()
