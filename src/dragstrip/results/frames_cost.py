"""The file in which a machine keeps the measured cost of recording frames."""

import os
from pathlib import Path

import msgspec

from dragstrip.model.frames_cost import FramesCost
from dragstrip.results.journal import CapsuleError
from dragstrip.results.manifest import Start


def kept() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "dragstrip" / "frames-cost.json"


def keep(cost: FramesCost) -> Path:
    """Replace the earlier measurement; return the file."""
    file = kept()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(cost), indent=1) + b"\n")
    return file


def known(start: Start) -> FramesCost | None:
    """Return the measurement with this start's browser on this machine; None if there is none.

    Raises `CapsuleError` if the file cannot be read.
    """
    file = kept()
    if not file.exists():
        return None
    try:
        cost = msgspec.json.decode(file.read_bytes(), type=FramesCost)
    except msgspec.DecodeError as error:
        raise CapsuleError(f"{file}: not a frames cost ({error}); delete the file") from None
    here = start.machine.cpu, start.machine.cores, start.browser_version
    return cost if (cost.cpu, cost.cores, cost.browser_version) == here else None
