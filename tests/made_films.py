"""Capsules with frames: visits whose every picture and time is known."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs
from PIL import Image

import made
import made_capsule
from dragstrip.browsers.screencast import Frame
from dragstrip.model.study import Client, Study
from dragstrip.results.artefacts import frames_file
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.visit.frames import visual, write_frames

CLIENT = Client(timeout_s=10, frames=True)
SIZE = (200, 100)
COLOURS = ("#c00000", "#00a000", "#0000c0", "#707070")


def frame(time_ms: float, *widths: int, kind: str = "PNG", size: tuple[int, int] = SIZE) -> Frame:
    """Boxes of full height side by side from the left on white."""
    image = Image.new("RGB", size, "white")
    left = 0
    for width, colour in zip(widths, COLOURS, strict=False):
        image.paste(colour, (left, 0, left + width, size[1]))
        left += width
    kept = io.BytesIO()
    image.save(kept, kind)
    return Frame(time_ms, kept.getvalue())


def film(*boxes: tuple[float, Sequence[int]], **how: object) -> list[Frame]:
    """A blank tab before the navigation, then what was painted."""
    return [frame(-5, **how), *(frame(ms, *widths, **how) for ms, widths in boxes)]


def study() -> Study:
    return made_capsule.study(runs=9)


def capsule(folder: Path, films: Mapping[str, Sequence[list[Frame]]]) -> Capsule:
    """A capsule with one block per film of each stack. A page is loaded 50 ms after its last
    frame."""
    of = structs.replace(study(), client=CLIENT)
    with Capsule.create(folder, Manifest(study=of, starts=(made_capsule.START,))) as made_:
        for i in range(len(next(iter(films.values())))):
            for stack, own in films.items():
                visit = made.visit(
                    made.STACKS[stack].protocol,
                    block=f"made|LTE|{i}",
                    plt_ms=own[i][-1].time_ms + 50,
                    visual=visual(own[i]),
                )
                write_frames(frames_file(folder, visit), own[i])
                made_.append(visit)
    return Capsule.open(folder)
