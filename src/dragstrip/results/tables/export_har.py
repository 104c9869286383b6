"""Writes HARs of a capsule's visits, one per visit, each with dragstrip's verdict.

The HAR that was recorded with the visit has all headers. If that HAR is missing, one is made from
the journal, without headers. The page's `_dragstrip` field names stack, network and verdict, so
that these stay with the HAR.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.visit.har import har

Archive = dict[str, Any]


def write_hars(capsule: Capsule, folder: Path) -> list[Path]:
    """Write one ``.har`` per visit into `folder`, which must exist; return the files in the order
    of the visits."""
    recorded = dict(_recorded(capsule.path / "har"))
    written = []
    for visit in capsule.visits():
        target = folder / f"{visit.file_name}.har"
        source = recorded.get(visit.id)
        archive = _read(source) if source else _rebuilt(capsule, visit)
        archive["log"]["pages"][0]["_dragstrip"] = _standing(visit, headers=source is not None)
        target.write_bytes(msgspec.json.encode(archive))
        written.append(target)
    return written


def _recorded(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the recorded HARs of the capsule, with the id of their visit."""
    for path in sorted(folder.glob("*.har")):
        yield _read(path)["log"]["pages"][0]["id"], path


def _read(path: Path) -> Archive:
    archive: Archive = msgspec.json.decode(path.read_bytes())
    return archive


def _rebuilt(capsule: Capsule, visit: Visit) -> Archive:
    started_s = visit.started_us / 1e6
    load = Load(
        outcome=visit.outcome,
        sent_s=started_s,
        time_origin_s=started_s,
        exchanges=tuple(Exchange(request=request) for request in visit.requests),
    )
    page = capsule.manifest.study.page(visit.page)
    return har(visit, load, page.url, capsule.manifest.starts[-1].browser_version)


def _standing(visit: Visit, *, headers: bool) -> dict[str, Any]:
    return {
        "page": visit.page,
        "network": visit.network,
        "stack": visit.stack,
        "block": visit.block,
        "attempt": visit.attempt,
        "outcome": visit.outcome,
        "verdict": visit.verdict,
        "reasons": [msgspec.to_builtins(reason) for reason in visit.reasons],
        "headers": headers,
    }
