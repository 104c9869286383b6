"""Runs programs that are measured together, and says how busy the machine was."""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.testbed.errors import TestbedError
from dragstrip.visit.host import HostMeter

_HERE = Path(__file__).parent
Rows = list[dict[str, Any]]
QUIET_STEAL = 0.01
"""Most of the CPU that the hypervisor may take in a run that counts."""


def measured(name: str, argv: list[str], **more: Any) -> Rows:
    """One subject's figures, with the host's busy and steal share during each."""
    rows: Rows = []
    meter = HostMeter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, errors="replace", **more) as run:
        assert run.stdout
        for line in run.stdout:
            if not line.startswith("{"):
                continue
            host, meter = meter.report(), HostMeter()
            row = json.loads(line) | {"busy": host.busy_share, "steal": host.steal_share}
            rows.append({"subject": name, **row})
            print(f"{name}: {len(rows)} {line.strip()} steal {host.steal_share:.2%}", flush=True)
    if run.returncode and not rows:
        rows.append({"subject": name, "error": f"ended with code {run.returncode}"})
    return rows


def netem(runs: int, figures: str) -> Rows:
    """netem's figures, of the list in figures.py that `figures` names. It runs in the kernel of
    virtual time, but by the machine's clock."""
    try:
        uml = str(kernel())
    except TestbedError as error:
        return [{"subject": "netem", "error": str(error)}]
    with tempfile.TemporaryDirectory() as folder:
        # Without a word of time travel, the guest's clock is the machine's.
        boot = "mem=512M root=/dev/root rootfstype=hostfs rootflags=/ ro con=null con0=fd:0,fd:1"
        init = ["init=/usr/bin/python3", "--", "-I", str(_HERE / "guest.py"), str(runs), figures]
        env = {"PATH": os.defpath, "HOME": folder, "TMPDIR": "/dev/shm"}
        return measured(
            "netem",
            [uml, *boot.split(), "quiet", "seccomp=on", *init],
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def quiet(rows: Rows, runs: int) -> Rows:
    """The runs of a figure that count: those without steal if there are enough, otherwise all."""
    undisturbed = [r for r in rows if r["steal"] <= QUIET_STEAL]
    return undisturbed if len(undisturbed) >= min(runs, 3) else rows


def cell(runs: Rows) -> str:
    if not runs:
        return "-"

    def median(key: str) -> float:
        return statistics.median(r[key] for r in runs)

    if "p50_us" in runs[0]:
        text = f"{median('p50_us'):.0f} / {median('p99_us'):.0f} / {median('max_us'):.0f} us"
    elif "mbps" in runs[0]:
        text = f"{median('mbps'):.0f} Mbit/s"
    elif "lost" in runs[0]:
        lost, of = (sum(r[key] for r in runs) for key in ("lost", "of"))
        text = f"{lost / of:.3%} of {of}"
    else:
        text = f"{median('rate_error_percent'):+.3f} %, {median('queue_packets'):.1f} packets"
    steal = max(r["steal"] for r in runs)
    return f"{text} ({len(runs)}, {steal:.1%}, {median('busy'):.0%})"
