"""Turns a visit into a film: the picture on screen at any time of the load."""

import io
from bisect import bisect_right
from pathlib import Path

from msgspec import Struct
from PIL import Image

from dragstrip.browsers.screencast import Frame
from dragstrip.model.visit import Visit, Visual
from dragstrip.results.artefacts import frames_file
from dragstrip.visit.frames import read_frames


class Film(Struct, frozen=True, kw_only=True):
    """The frames of one load in any browser. They may have any size and picture format."""

    visit: Visit
    visual: Visual
    frames: tuple[Frame, ...]
    """Frames by time; never empty."""

    @property
    def name(self) -> str:
        return self.visit.stack

    @property
    def marks(self) -> tuple[tuple[str, float], ...]:
        """The named moments that the visit reached (FVC, VC85, LVC, PLT), in ms."""
        moments = (
            ("FVC", self.visual.fvc_ms),
            ("VC85", self.visual.vc85_ms),
            ("LVC", self.visual.lvc_ms),
            ("PLT", self.visit.plt_ms),
        )
        return tuple((name, ms) for name, ms in moments if ms is not None)

    @property
    def end_ms(self) -> float:
        """Time in ms of the last named moment. Later frames, in the quiet time, show no change."""
        return max((ms for _, ms in self.marks), default=self.frames[-1].time_ms)

    def at(self, ms: float) -> Frame:
        """Return the frame that is on screen at this time."""
        return self.frames[max(0, bisect_right(self.frames, ms, key=lambda f: f.time_ms) - 1)]

    def changed(self, after_ms: float, until_ms: float) -> bool:
        """Return whether anything visible changed between the two times."""
        return any(after_ms < ms <= until_ms for ms, _ in self.visual.progress)

    def complete(self, ms: float) -> float:
        """Visual completeness at this time, 0..1."""
        seen = [share for at_ms, share in self.visual.progress if at_ms <= ms]
        return seen[-1] if seen else 0.0


def film(capsule: Path, visit: Visit) -> Film | None:
    """Return the film of a visit; None if its frames were not recorded or are missing."""
    kept = frames_file(capsule, visit)
    if visit.visual is None or not kept.exists():
        return None
    frames = sorted(read_frames(kept), key=lambda f: f.time_ms)
    return Film(visit=visit, visual=visit.visual, frames=tuple(frames)) if frames else None


def picture(frame: Frame) -> Image.Image:
    """Return the decoded frame, in RGB."""
    with Image.open(io.BytesIO(frame.jpeg)) as image:
        return image.convert("RGB")
