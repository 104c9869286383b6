"""Do pages that do more than load race validly, in both browsers and over every protocol?

    uv run python bench/pages/behaviours.py FOLDER [NAME...]

Makes a small page for each behaviour (or for each NAME), races them, and prints a table: valid
loads of all, or why not. FOLDER keeps pages and visits, so an interrupted bench goes on. Some 150
visits take 10 minutes on a quiet machine. `overloaded` is the busy machine's own word: such visits
are made again, and the table leaves them out. The delay keeps computing from dominating the loads.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, RecordedSocket, Recording
from dragstrip.results.capsule import Capsule

SITE = "https://www.behaves.test"
OTHER = "https://other.behaves.test"
STACKS = ("h1", "h2", "h3", "h1-firefox", "h2-firefox", "h3-firefox")
SOCKET = "<script>new WebSocket('wss://{host}/ws')</script>"
WORKER = "onmessage = () => 0; fetch('/data.json')"
MARKUP = {
    "script moves on": "<script>location = '/last'</script>",
    "load handler moves on": "<script>onload = () => location.replace('/last')</script>",
    "quiet time moves on": "<script>setTimeout(() => location = '/last', 60)</script>",
    "refresh": '<meta http-equiv="refresh" content="0; url=/last">',
    "refresh in five minutes": '<meta http-equiv="refresh" content="300; url=/last">',
    "form sends itself": "<form action='/last' title='/last?'></form>"
    "<script>document.forms[0].submit()</script>",
    "moves on twice": "<script>location = '/next'</script>",
    "moves on to a redirect": "<script>location = '/moved'</script>",
    "moves on to another host": f"<script>location = '{OTHER}/last'</script>",
    "history": "<script>history.pushState({}, '', '/there'); location.hash = 'x'</script>",
    "WebSocket": SOCKET.format(host="www.behaves.test"),
    "WebSocket of another host": SOCKET.format(host="other.behaves.test"),
    "WebSocket not recorded": "<script>new WebSocket('wss://www.behaves.test/none')</script>",
    "events": "<script>new EventSource('/events')</script>",
    "long poll": "<script>fetch('/slow.json')</script>",
    "worker": f'<script>new Worker(URL.createObjectURL(new Blob(["{WORKER}"])))</script>',
    "worker of a file": "<script>new Worker('/worker.js')</script>",
    "service worker": "<script>navigator.serviceWorker?.register('/worker.js')</script>",
    "data and blob": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><script>"
    "fetch(URL.createObjectURL(new Blob(['x'])))</script>",
    "another port": f"<img src={SITE}:8443/a.gif>",
    "two other ports": f"<img src={SITE}:8443/a.gif><img src={OTHER}:9443/a.gif>",
    "beacon": "<script>onload = () => navigator.sendBeacon('/beacon', 'x'.repeat(5000))</script>",
    "beacon that hangs": "<script>onload = () => new Image().src = '/slow.gif'</script>",
    "keepalive": "<script>fetch('/data.json', {keepalive: true})</script>",
    "frame in a frame": "<iframe src=/frame></iframe>",
    "document.write": "<script>document.write('<script src=/written.js><\\/script>')</script>",
}
GIF = bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or list(MARKUP)
    pages = [str(write(name, folder / "pages")) for name in names]
    study = folder / "study.toml"
    study.write_text(
        f"name = 'behaviours'\nseed = 1\nruns = 1\npages = {pages}\nnetworks = ['10mbit/75ms']\n"
        f"stacks = {list(STACKS)}\ncontrols = false\nthink_time = true\n[client]\ntimeout_s = 30\n"
    )
    command = ["dragstrip", "run", str(study), "--out", str(folder / "visits")]
    subprocess.run(command, check=False)
    print(f"| page | {' | '.join(STACKS)} |\n|---|{'---|' * len(STACKS)}")
    for row in rows(Capsule.open(folder / "visits")):
        print(row)


def write(name: str, folder: Path) -> Path:
    """Write the page's file: its document, and everything that it may request."""
    path = folder / f"{name.replace(' ', '-')}.har.zip"
    document = html("/", name, MARKUP[name])
    wanted, found = [document], [document]
    while wanted:
        said = wanted.pop().wire.decode("latin-1")
        new = [a for a in ANSWERS if a not in found and is_named(a, said)]
        found += new
        wanted += [structs.replace(a, wire=a.wire + bytes(str(a.headers), "ascii")) for a in new]
    sockets = [
        RecordedSocket(url=url, open_ms=20, time_ms=600_000)
        for url in ("wss://www.behaves.test/ws", "wss://other.behaves.test/ws")
        if url in MARKUP[name]
    ]
    recording = Recording(
        name=path.name.removesuffix(".har.zip"),
        url=document.url,
        source="made for this bench",
        answers=tuple(found),
        sockets=tuple(sockets),
    )
    write_page(path, recording)
    return path


def is_named(answer: Recorded, said: str) -> bool:
    """Whether this text leads to the answer, by its path if it is on the page's own host."""
    own = answer.url.startswith(f"{SITE}/")
    name = answer.url.removeprefix(SITE) if own else answer.url
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", said) is not None


def answer(path: str, body: bytes | str, mime: str = "text/html", **more: Any) -> Recorded:
    url = path if path.startswith("https:") else f"{SITE}{path}"
    wire = body.encode() if isinstance(body, str) else body
    more.setdefault("think_ms", 1.0)
    return Recorded(url=url, headers=(("content-type", mime),), wire=wire, **more)


def html(path: str, title: str, body: str) -> Recorded:
    return answer(path, f"<!doctype html><title>{title}</title><p>{title}</p>{body}")


ANSWERS = (
    html("/next", "next", "<script>location = '/last'</script>"),
    html("/last", "last", "<img src=/a.gif>"),
    html("/last?", "last", "<img src=/a.gif>"),  # as a form without fields asks for it
    html("/frame", "frame", "<iframe src=/last></iframe>"),
    html(f"{OTHER}/last", "last", ""),
    Recorded(url=f"{SITE}/moved", status=302, headers=(("location", "/last"),)),
    Recorded(url=f"{SITE}/beacon", method="POST", status=204, upload_bytes=5000),
    answer("/a.gif", GIF, "image/gif"),
    answer(f"{SITE}:8443/a.gif", GIF, "image/gif"),
    answer(f"{OTHER}:9443/a.gif", GIF, "image/gif"),
    answer("/slow.gif", GIF, "image/gif", think_ms=600_000),
    answer("/slow.json", "{}", "application/json", think_ms=600_000),
    answer("/data.json", "{}", "application/json"),
    answer("/worker.js", WORKER, "text/javascript"),
    answer("/written.js", "0", "text/javascript"),
    answer("/events", "data: x\n\n", "text/event-stream", time_ms=600_000),
)


def rows(capsule: Capsule) -> Iterator[str]:
    """A line for each page: valid of all loads, and why not."""
    seen: dict[str, dict[str, list[Visit]]] = defaultdict(lambda: defaultdict(list))
    for visit in capsule.visits():
        if "overloaded" not in visit.verdict:
            seen[visit.page][visit.stack].append(visit)
    for page, by_stack in seen.items():
        cells = (cell(by_stack[stack]) for stack in STACKS)
        yield f"| {page} | {' | '.join(cells)} |"


def cell(visits: list[Visit]) -> str:
    good = [v for v in visits if v.valid and v.outcome == "loaded"]
    against = {r.code for v in visits for r in v.reasons}
    against |= {v.outcome for v in visits if v.outcome != "loaded"}
    why = f" {', '.join(sorted(against))}" if against else ""
    return f"{len(good)} of {len(visits)}{why}"


if __name__ == "__main__":
    main()
