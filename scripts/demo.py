"""`make demo`: a first race, and its report opened where there is a screen."""

import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from dragstrip.cli import exits


def main() -> int:
    out = Path("capsules") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"
    print("Racing HTTP/1.1, HTTP/2 and HTTP/3 on the bundled page over an LTE-like link.")
    stacks = [word for name in ("h1", "h2", "h3") for word in ("--stack", name)]
    argv = ["dragstrip", "race", "demo", "--network", "LTE", *stacks, "--runs", "7"]
    code = subprocess.run([*argv, "--out", str(out)]).returncode
    report = out / "report" / "index.html"
    opener = shutil.which("xdg-open")
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if report.exists() and opener and screen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.Popen([opener, str(report)], **quiet)
    if code == exits.STAYED_INVALID:
        print("Some blocks stayed invalid: this machine is busy. The report says which and why.")
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
