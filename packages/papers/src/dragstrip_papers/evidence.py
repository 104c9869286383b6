"""Collects the evidence for claims: one row per load that counts, with the factors of its cell.

Only complete blocks of valid visits enter (`dragstrip.results.blocks`). A load that failed or timed
out is never dropped: it has the client's limit as its time, and is counted in `censored`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import polars as pl

from dragstrip.model.clock import Clock
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.pages import corpus
from dragstrip.results.blocks import trials
from dragstrip.results.capsule import Capsule
from dragstrip.visit.metrics import (
    EARLY,
    connect_to_request_ms,
    network_plt_ms,
    object_times,
)
from dragstrip_papers.doubts import doubtful_cells
from dragstrip_papers.measured import DoubtfulCell, Evidence, Key

TIMES = ("plt_ms", "ttfb_ms", "fcp_ms")
VISUAL = ("fvc_ms", "lvc_ms", "vc85_ms", "speed_index_ms")
METRICS = (
    *TIMES,
    *(f"visual_{name}" for name in VISUAL),
    "network_plt_ms",
    "connect_to_request_ms",
    "object_sent_ms",
    "object_sent_max_ms",
    "object_queued_p90_ms",
)
"""Metrics. The names are those of `visits.parquet`, with ``visual_`` before metrics of the picture,
and others that papers use: see docs/reference/metrics.md."""
_NEED_ALL = tuple(name for name in METRICS if name.removeprefix("visual_") not in EARLY)
"""Metrics that a load lacks if it did not end."""
TEXTS = ("block", "page", "network", "connection", "stack")
"""Columns of text besides `study`, by which a claim can ask for all pages of one study."""
FACTORS = ("rate_mbps", "rtt_ms", "loss", "objects", "object_bytes", "page_bytes", "hosts")
SCHEMA: dict[str, Any] = (
    dict.fromkeys(("study", *TEXTS), pl.String)
    | {"censored": pl.Boolean, "standin": pl.Boolean}
    | dict.fromkeys((*FACTORS, *METRICS), pl.Float64)
)


def nothing() -> pl.DataFrame:
    return pl.DataFrame(schema=SCHEMA)


def from_capsules(folders: Iterable[Path], parts: Mapping[str, str] | None = None) -> Evidence:
    """Return the loads of all studies of a paper. `parts` maps a stack to the name of the stack
    whose part it plays.

    Raises `InputError` for a folder that is no capsule, and if only some capsules were made in
    virtual time.
    """
    frames = [nothing()]
    clocks: dict[Clock, Path] = {}
    doubted: dict[Key, DoubtfulCell] = {}
    for folder in folders:
        capsule = Capsule.open(folder)
        study, visits = capsule.manifest.study, list(capsule.visits())
        clocks.setdefault(study.clock, folder)
        if len(clocks) > 1:
            said = " and ".join(f"{path} in {clock.short}" for clock, path in clocks.items())
            raise InputError(f"{said} are no evidence together: give each its own folder")
        frames.append(loads(study, visits))
        doubted |= doubtful_cells(study, visits, parts)
    found = pl.concat(frames).with_columns(pl.col("stack").replace(parts or {}))
    return Evidence(found, doubts=doubted)


def loads(study: Study, visits: Iterable[Visit]) -> pl.DataFrame:
    known = {name.replace("/", "-"): page for name, page in corpus.known().items()}
    limit_ms = study.client.timeout_s * 1000
    factors = {
        (p.name, n.name): _of_page(p, known.get(p.name)) | of_network(n)
        for p in study.pages
        for n in study.networks
    }
    rows = [
        {"study": study.name}
        | {name: getattr(visit, name) for name in TEXTS}
        | factors[visit.page, visit.network]
        | _times(visit, limit_ms)
        for trial in trials(visits, [s.name for s in study.stacks])
        if trial.counts
        for visit in trial.visits.values()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def of_network(network: Network) -> dict[str, object]:
    down = network.down
    return {"rate_mbps": down.rate_mbps, "rtt_ms": network.rtt_ms, "loss": down.mean_loss}


def _of_page(page: Page, known: corpus.Known | None) -> dict[str, object]:
    found = of_known(known, page.body_bytes, len(page.hosts))
    if known or not page.resources:
        return found
    objects = len(page.resources)
    return found | {
        "objects": objects,
        "object_bytes": page.body_bytes / objects,
        "standin": page.source.startswith(corpus.STAND_IN),  # of an older corpus
    }


def of_known(known: corpus.Known | None, size: int, hosts: int) -> dict[str, object]:
    """Return the factors of a page before it is made. For a page that is not known, `size` and
    `hosts` are used. A synthetic page's factors count its pictures, without the document."""
    if known is None:
        return {"page_bytes": size, "hosts": hosts, "standin": False}
    return {
        "objects": known.objects,
        "page_bytes": known.size,
        "object_bytes": known.size / known.objects if known.objects else None,
        "hosts": hosts,
        "standin": known.kind == "stand-in",
    }


def _times(visit: Visit, limit_ms: float) -> dict[str, object]:
    censored = visit.outcome != "loaded"
    objects = object_times(visit)
    sent = [o.sent_ms for o in objects if o.sent_ms is not None]
    queued = [o.queued_ms for o in objects]
    found: dict[str, float | None] = {name: getattr(visit, name) for name in TIMES}
    found |= {f"visual_{name}": getattr(visit.visual, name, None) for name in VISUAL}
    found["network_plt_ms"] = network_plt_ms(visit)
    found["connect_to_request_ms"] = connect_to_request_ms(visit)
    found["object_sent_ms"] = median(sent) if sent else None
    found["object_sent_max_ms"] = max(sent, default=None)
    found["object_queued_p90_ms"] = quantiles(queued, n=10)[-1] if len(queued) > 1 else None
    if censored:
        found |= dict.fromkeys(_NEED_ALL, limit_ms)
        found = {name: limit_ms if value is None else value for name, value in found.items()}
    return {"censored": censored, **found}
