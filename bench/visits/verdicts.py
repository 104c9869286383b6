"""Does the verdict raise false alarms? Clean visits may only be flagged for a busy host.

    uv run python bench/visits/verdicts.py [PAGE...] [--visits 1000] [--journal FILE] [--minutes N]
    uv run python bench/visits/verdicts.py --campaigns CAPSULE...

h1, h2, h3, h3 found by Alt-Svc and TCP with early data load pages over four networks, one of them
with loss, on first and repeat visits: a synthetic page, the demo page and each PAGE (a recording).
Nothing is rerun and nothing left out. `overloaded` is right on a busy machine, on which a link may
also miss its rate. Any other reason is a false verdict until someone has checked it (exit code 1).
Writes verdicts.md and verdicts.json into docs/reference. A thousand visits take an hour. With
--minutes it stops after that time, and resumes from its journal when it is started again (exit code
3 until it is done). With --campaigns it makes no visits, but adds what today's rules say of the
visits in capsules that are there.
"""

import argparse
import json
import math
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import structs
from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from dragstrip.browsers.registry import browser_version
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.clock import REAL
from dragstrip.model.network import Network
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.journal import Journal, read
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.verdict import rules
from dragstrip.verdict.clock_checks import offset_ms
from dragstrip.verdict.content_checks import as_recorded, complete
from dragstrip.verdict.together import in_study, with_reasons

PAGES = ("50x11.8KB", "demo")
STACKS = ("h1", "h2", "h3", "h3-altsvc", "TCP+early")
CONNECTIONS = ("first", "repeat")
NETWORKS = {
    "20 Mbit/s, 20 ms": "20mbit/5mbit/10ms/0%/200ms",
    "20 Mbit/s, 20 ms, 1 % loss": "20mbit/5mbit/10ms/1%/200ms",
}
HONEST = "overloaded"
OUT = Path("docs/reference")


def main() -> None:
    asked = arguments()
    if asked.campaigns:
        found = json.loads((OUT / "verdicts.json").read_text())
        found["campaigns"] = [campaign(folder) for folder in asked.campaigns]
        write(found)
        sys.exit(any(row["false"] for row in found["campaigns"]))
    networks = [structs.replace(Network.parse(text), name=name) for name, text in NETWORKS.items()]
    networks += [find_network("bare"), find_network("LTE")]
    pages = [*(page if page == "demo" else f"synth:{page}" for page in PAGES), *asked.pages]
    cells = len(pages) * len(networks) * len(STACKS) * len(CONNECTIONS)
    asked.journal.parent.mkdir(parents=True, exist_ok=True)
    study = structs.replace(
        StudySpec(
            name="verdicts",
            pages=pages,
            networks=networks,
            stacks=[find_stack(name) for name in STACKS],
            runs=math.ceil(asked.visits / cells),
            seed=1,
            client=Client(),
        ).resolve(asked.journal.parent / "pages"),
        reruns=0,
        connections=CONNECTIONS,
    )
    if not made(study, asked.journal, asked.minutes):
        sys.exit(3)
    visits = list(with_reasons(read(asked.journal), in_study(study, read(asked.journal))))
    found = summary(study, visits) | {"journal_kb": asked.journal.stat().st_size / 1000}
    write(found)
    sys.exit(bool(found["false"]))


def write(found: dict[str, Any]) -> None:
    (OUT / "verdicts.json").write_text(json.dumps(found, indent=1) + "\n")
    (OUT / "verdicts.md").write_text(text(found))
    print(text(found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--visits", type=int, default=1000)
    parser.add_argument("--journal", type=Path, default=Path(".cache/verdicts/journal.jsonl"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--campaigns", nargs="+", type=Path)
    return parser.parse_args()


class _Enough(Exception):
    """Raised when the time is over; the next start makes the remaining visits."""


def made(study: Study, path: Path, minutes: float) -> bool:
    """Make visits until the time is over; return whether all are in the journal."""
    journal = Journal(path)
    schedule = Schedule(study, read(path))
    until = time.monotonic() + minutes * 60
    columns = (*Progress.get_default_columns()[:-1], TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("visits", total=schedule.visits_left())

        def keep(visit: Visit, _: object) -> None:
            journal.append(visit)
            bar.advance(task)
            if time.monotonic() > until:
                raise _Enough

        try:
            run_here(schedule, keep)
        except _Enough:
            return False
        finally:
            journal.close()
    return True


def summary(study: Study, visits: Sequence[Visit]) -> dict[str, Any]:
    return {
        "machine": f"{os.cpu_count()} cores, kernel {platform.release()}",
        "browser": browser_version(),
        "visits": len(visits),
        "minutes": round((visits[-1].started_us - visits[0].started_us) / 6e7, 1),
        "pages": list(dict.fromkeys(v.page for v in visits)),
        "honest": sum(HONEST in v.verdict for v in visits),
        "false": told(v for v in visits if HONEST not in v.verdict),
        "beside_overload": told(v for v in visits if HONEST in v.verdict),
        "rows": [
            row(network.name, stack, [v for v in visits if (v.network, v.stack) == key])
            for network in study.networks
            for stack in STACKS
            if (key := (network.name, stack))
        ],
        "margins": margins(study, visits),
    }


def campaign(folder: Path) -> dict[str, Any]:
    """What today's rules say of a campaign's visits; controls are visits like all others."""
    capsule = Capsule.open(folder)
    study = capsule.manifest.study
    visits, codes, false = 0, Counter[str](), []
    for visit in capsule.visits():
        visits += 1
        codes.update({r.code for r in visit.reasons})
        if HONEST not in visit.verdict:
            false += told([visit])
    return {
        "study": study.name,
        "made": "in real time" if study.clock == REAL else "in virtual time",
        "browsers": sorted({stack.browser for stack in study.stacks}),
        "visits": visits,
        "reasons": dict(codes),
        "false": false,
        "rules": rules.VERSION,
    }


def told(visits: Iterable[Visit]) -> list[dict[str, str]]:
    return [
        {"visit": v.id, "reason": r.code, "detail": r.detail}
        for v in visits
        for r in v.reasons
        if r.code != HONEST
    ]


def row(network: str, stack: str, visits: Sequence[Visit]) -> dict[str, Any]:
    codes = Counter(code for v in visits for code in {r.code for r in v.reasons})
    return {
        "network": network,
        "stack": stack,
        "visits": len(visits),
        "valid": sum(v.valid for v in visits),
        "reasons": dict(codes),
        "plt_ms": median(v.plt_ms for v in visits if v.plt_ms),
    }


def margins(study: Study, visits: Sequence[Visit]) -> list[dict[str, Any]]:
    """What the checks measured: of all visits what tells how busy the host was, of those that were
    not `overloaded` the rest."""
    seen = [v for v in visits if v.host and v.link]
    calm = [v for v in visits if HONEST not in v.verdict and v.host and v.link]
    offsets = [o for v in calm if (o := offset_ms(v, study.network(v.network)))]
    rates = [
        abs(got.realised_mbps / asked.rate_mbps - 1) * 100
        for v in calm
        for side in ("down", "up")
        if (got := getattr(v.link, side)).realised_mbps
        and (asked := study.network(v.network).direction(side)).rate_mbps
    ]
    lines_off = [
        abs(got.line_bytes * 8 / got.line_ms / 1000 / asked.rate_mbps - 1) * 100
        for v in visits
        for side in ("down", "up")
        if (got := v.link.direction(side)).line_ms
        and (asked := study.network(v.network).direction(side)).rate_mbps
    ]
    limits = study.thresholds
    lines = (
        ("a thread of the browser waited, ms", [v.host.browser_wait_ms for v in seen]),
        ("a thread of the server waited, ms", [v.host.server_wait_ms for v in seen]),
        ("lateness p99, down, ms", [(v.link.down.lateness_p99_us or 0) / 1000 for v in seen]),
        ("CPU time stolen, %", [v.host.steal_share * 100 for v in seen]),
        (
            f"rate off, % (limit {limits.rate_error * 100:g} where enough was carried to judge)",
            rates,
        ),
        (f"rate of the line off, % (limit {limits.rate_error * 100:g}), all visits", lines_off),
        ("reading bodies back from the browser, ms", [v.overhead.content_ms for v in visits]),
        ("judging content, ms", [judged_ms(study, v) for v in visits]),
        (
            f"clock against time, ms (limit {limits.clock_error_ms:g})",
            [abs(v.host.clock_jump_ms) for v in calm],
        ),
        (
            f"clocks of browser and server surely apart by, ms (limit {limits.clock_error_ms:g})",
            [max(0.0, least, -most) for least, most in offsets],
        ),
    )
    return [
        {
            "what": what,
            "median": median(known),
            "p95": sorted(known)[int(0.95 * len(known))],
            "worst": max(known),
        }
        for what, values in lines
        if (known := [v for v in values if v is not None])
    ]


def judged_ms(study: Study, visit: Visit) -> float:
    page = study.page(visit.page)
    began = time.perf_counter()
    for _ in (
        *as_recorded(visit, page, study.stack(visit.stack)),
        *complete(visit, page, study.thresholds),
    ):
        pass
    return (time.perf_counter() - began) * 1000


def text(found: dict[str, Any]) -> str:
    said = [
        "# False verdicts",
        "",
        f"{found['visits']} clean visits, {found['machine']}, {found['browser']}, "
        f"{found['minutes']:g} minutes: **{len(found['false'])} reasons against calm visits**; "
        f"{found['honest']} visits are `overloaded`, a busy machine's honest word. "
        "Nothing was rerun or left out. First and repeat visits, half each, of these pages: "
        + ", ".join(found["pages"])
        + f". A visit takes {found['journal_kb'] / found['visits']:.0f} kB of the journal.",
        "Made by `python bench/visits/verdicts.py RECORDING...`.",
        "",
        "| network | stack | visits | valid | reasons | median page load |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r['network']} | {r['stack']} | {r['visits']} | {r['valid']} | "
            + counted(r["reasons"])
            + f" | {r['plt_ms']:.0f} ms |"
            for r in found["rows"]
        ),
        "",
        "How far from the limits: how busy the host was in all visits, the rest in those not",
        "overloaded.",
        "",
        "| measured | median | 95 of 100 | worst |",
        "|---|---|---|---|",
        *(
            f"| {m['what']} | {m['median']:.3f} | {m['p95']:.3f} | {m['worst']:.3f} |"
            for m in found["margins"]
        ),
        *listed("Said of calm visits", found["false"]),
        *listed("Said of overloaded visits besides", found["beside_overload"]),
        *campaigns(found.get("campaigns", [])),
    ]
    return "\n".join(said) + "\n"


def campaigns(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """All visits of the campaigns, those that were invalid and made again included."""
    if not rows:
        return
    visits = sum(row["visits"] for row in rows)
    false = [reason for row in rows for reason in row["false"]]
    yield from (
        "",
        "## Campaigns",
        "",
        f"All {visits} visits of campaigns, judged by version {rows[0]['rules']} of the rules: "
        f"**{len(false)} reasons against calm visits**. Made by "
        "`python bench/visits/verdicts.py --campaigns CAPSULE...`.",
        "",
        "| study | made | by | visits | reasons |",
        "|---|---|---|---|---|",
    )
    for row in rows:
        by, reasons = ", ".join(row["browsers"]), counted(row["reasons"])
        yield f"| {row['study']} | {row['made']} | {by} | {row['visits']} | {reasons} |"
    yield from listed("Said of calm visits", false)


def counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{code} {n}" for code, n in reasons.items()) or "none"


def listed(title: str, reasons: list[dict[str, str]]) -> list[str]:
    lines = [f"- {f['visit']}: `{f['reason']}`, {f['detail']}" for f in reasons]
    return ["", f"{title}:", "", *lines] if lines else []


if __name__ == "__main__":
    main()
