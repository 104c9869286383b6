"""Makes a page that requests part of an object, and reports whether it got exactly that part."""

from pathlib import Path

from dragstrip.model.page import Page
from dragstrip.pages.format.archive import SUFFIX, write_page
from dragstrip.pages.format.recording import Recorded, Recording

_HOST = "https://ranges.test"
_NUMBERS = "".join(f"{n:03} " for n in range(500))
_FIRST, _LAST = 100, 199
AS_ASKED = f"{_HOST}/as-asked"
"""URL that the page requests if the answer was 206 with exactly the requested bytes."""
_DOCUMENT = f"""<!doctype html><title>Ranges</title><script>
const part = new XMLHttpRequest();
part.open("GET", "/numbers", false);
part.setRequestHeader("Range", "bytes={_FIRST}-{_LAST}");
part.send();
if (part.status === 206 && part.responseText === "{_NUMBERS[_FIRST : _LAST + 1]}") {{
  const said = new XMLHttpRequest();
  said.open("GET", "/as-asked", false);
  said.send();
}}
</script>
"""


def ranges_page(folder: Path) -> Page:
    """Write the page into `folder` and return it."""
    answers = (
        _answer("/", "text/html; charset=utf-8", _DOCUMENT),
        _answer("/numbers", "text/plain", _NUMBERS),
        _answer("/as-asked", "text/plain", "yes"),
    )
    recording = Recording(name="ranges", url=f"{_HOST}/", source="generated", answers=answers)
    return write_page(folder / f"ranges{SUFFIX}", recording)


def _answer(path: str, mime: str, text: str) -> Recorded:
    headers = (("content-type", mime), ("cache-control", "no-store"))
    return Recorded(url=_HOST + path, status_text="OK", headers=headers, wire=text.encode())
