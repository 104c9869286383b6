"""Dissects the captures of a capsule, with a progress bar: tshark takes about a second each."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.progress import track

from dragstrip.model.errors import InputError
from dragstrip.model.visit import Visit
from dragstrip.results.dissect import captured, dissection
from dragstrip.results.packets import NoTshark


def read_captures(capsule: Path, visits: Iterable[Visit]) -> None:
    """Dissect every captured visit. Print a line for each visit that cannot be read."""
    console = Console(stderr=True)
    kept = [visit for visit in visits if captured(capsule, visit)]
    if not kept:
        return
    for visit in track(kept, "reading packets", console=console, transient=True):
        try:
            dissection(capsule, visit)
        except NoTshark as error:
            console.print(f"{error}", highlight=False)
            return
        except InputError as error:
            console.print(f"{visit.id}: {error}", highlight=False)
