"""Calibration on the command line."""

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from dragstrip.model.calibration import Calibration, Reading
from dragstrip.model.network import Network
from dragstrip.testbed.calibrate.measure import BRIEF, THOROUGH, Effort, calibrate


def measure(networks: Sequence[Network], effort: Effort, console: Console) -> Calibration:
    """Calibrate with a progress line, because it takes seconds. Raises `TestbedError`."""
    with console.status("calibrating") as status:

        def shown(reading: Reading) -> None:
            status.update(f"calibrating {reading.network}")

        return calibrate(networks, effort=effort, shown=shown)


def full(networks: Sequence[Network], console: Console) -> Calibration:
    """Return the calibration of `dragstrip doctor --calibrate`."""
    calibration = measure(networks, THOROUGH, console)
    console.print(table(calibration))
    word = "[green]yes[/green]" if calibration.good else "[red]no[/red]"
    console.print(f"within tolerance: {word} ({calibration.took_s:.0f} s)", highlight=False)
    return calibration


def before_visits(networks: Sequence[Network]) -> Calibration:
    """Measure the networks of a study and print the result. Raises `TestbedError`."""
    console = Console(stderr=True)
    began = time.monotonic()
    calibration = measure(networks, BRIEF, console)
    if not calibration.good:
        console.print(table(calibration))
        return calibration
    took = time.monotonic() - began
    lines = sum(r.measured is not None for r in calibration.readings)
    console.print(
        f"calibrated {len(networks)} network{'s'[: len(networks) > 1]} in {took:.0f} s: "
        f"{lines} readings within tolerance",
        highlight=False,
    )
    return calibration


def table(calibration: Calibration) -> Table:
    shown = Table("network", box=None, pad_edge=False)
    shown.columns[0].overflow = "fold"
    for name in ("way", "quantity"):
        shown.add_column(name, no_wrap=True)
    for name in ("asked", "measured", "error"):
        shown.add_column(name, no_wrap=True, justify="right")
    shown.add_column("verdict")
    for r in calibration.readings:
        verdict = r.verdict if r.good else f"[red]{r.verdict}[/red]"
        shown.add_row(
            r.network,
            f"{r.side or 'both'} {r.transport}",
            r.quantity,
            _number(r.asked, r.unit),
            _number(r.measured, r.unit),
            "" if r.error is None else f"{r.error:+.3g}",
            f"{verdict}: {r.note}" if r.measured is None and r.note else verdict,
        )
    return shown


def _number(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.5g} {unit}"
