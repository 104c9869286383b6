"""The live page and its stream of events. Both are read-only."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.figures import palette
from dragstrip.report.figures.waterfall import waterfall
from dragstrip.report.site.templating import environment
from dragstrip.watch.follow import Follower
from dragstrip.watch.tally import describe

_PAGE = Path(__file__).with_name("page")
_EVERY_S = 1.0
_READING_S = 0.02
"""Pause between batches when reading a journal that existed before."""
_LAST = 12
"""Number of visits that are listed; the latest ones are."""
_ROOM = 1.05
"""Length of a waterfall's time axis, as a multiple of the visit's length."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def app(folder: Path) -> Starlette:
    """Make the web application for one result folder. It refuses requests whose Host is not this
    machine, so that no web site in the user's browser can read the folder. Raises
    `CapsuleError`."""
    follower = Follower(folder)

    def page(request: Request) -> Response:
        made = environment(palette=palette).get_template("watch.html.j2")
        study = follower.manifest.study
        text = made.render(study=study, folder=folder, stacks=study.stacks)
        return HTMLResponse(text, headers=_HEADERS)

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        kinds = {"watch.css": "text/css", "watch.js": "text/javascript"}
        if name not in kinds:
            return Response(status_code=404)
        data = (_PAGE / name).read_bytes()
        return Response(data, media_type=kinds[name], headers=_HEADERS)

    def drawn(request: Request) -> Response:
        visit = follower.visit(request.path_params["number"])
        if visit is None:
            return Response(status_code=404)
        return Response(_waterfall(visit), media_type="text/html", headers=_HEADERS)

    def picture(request: Request) -> Response:
        visit = follower.visit(request.path_params["number"])
        if visit is None or visit.visual is None or not visit.visual.final:
            return Response(status_code=404)
        return Response(visit.visual.final, media_type="image/png", headers=_HEADERS)

    def events(request: Request) -> Response:
        told = _events(follower, request)
        return StreamingResponse(told, media_type="text/event-stream", headers=_HEADERS)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/assets/{name}", asset),
            Route("/visits/{number:int}/waterfall", drawn),
            Route("/visits/{number:int}/picture.png", picture),
            Route("/events", events),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
    )


async def _events(follower: Follower, request: Request) -> AsyncIterator[bytes]:
    """Yield events: first all that is known, then each change."""
    generation = told = 0
    before: Any = None
    while not await request.is_disconnected():
        news = follower.read()
        if generation != follower.generation:
            generation, told = follower.generation, 0
            yield _event("study", _study(follower.manifest.study))
        changed = {n for n in follower.cell_of[told:] if n is not None}
        shown = range(max(told, len(follower.offsets) - _LAST), len(follower.offsets))
        told = len(follower.offsets)
        now = _now(follower)
        if changed or now != before:
            before = now
            yield _event(
                "change",
                {
                    **now,
                    "cells": [follower.tally.cell(n) for n in sorted(changed)],
                    "last": list(_last(follower, shown)),
                },
            )
        await asyncio.sleep(_READING_S if news else _EVERY_S)


def _now(follower: Follower) -> dict[str, Any]:
    standing = follower.tally.standing()
    per_hour = follower.per_hour()
    left_s = standing.left / per_hour * 3600 if per_hour else None
    return {
        "state": follower.state,
        "standing": standing,
        "per_hour": per_hour and round(per_hour),
        "left_s": left_s and round(left_s, -1 if left_s > 60 else 0),
        "took_s": follower.took_s(),
    }


def _study(study: Study) -> dict[str, Any]:
    first, *others = study.stacks
    return {
        "name": study.name,
        "runs": study.runs,
        "clock": study.clock.short,
        "ends_early": bool(study.stopping or study.slow),
        "first": first.name,
        "stacks": [{"name": s.name, "protocol": s.protocol} for s in (first, *others)],
        "cells": [describe(cell) for cell in study.cells()],
    }


def _last(follower: Follower, numbers: Iterable[int]) -> Iterable[dict[str, Any]]:
    for number in numbers:
        visit = follower.visit(number)
        assert visit
        yield {
            "number": number,
            "page": visit.page,
            "network": visit.network,
            "connection": visit.connection,
            "stack": visit.stack,
            "plt_ms": visit.plt_ms,
            "outcome": visit.outcome,
            "verdict": visit.verdict,
            "said": visit.reasons[0].detail if visit.reasons else "",
            "machine": visit.machine,
            "picture": bool(visit.visual and visit.visual.final),
        }


def _waterfall(visit: Visit) -> str:
    """Draw the waterfall with colours that follow the reader's choice of light or dark."""
    ends = [visit.plt_ms or 0.0, *(r.end_ms or 0.0 for r in visit.requests)]
    svg = waterfall(visit, max(ends) * _ROOM or 1000.0)
    for protocol in palette.PROTOCOL:
        svg = svg.replace(f'fill="{palette.colour(protocol)}"', f'fill="var(--{protocol})"')
        svg = svg.replace(f'fill="{palette.faint(protocol)}"', f'fill="var(--{protocol}-faint)"')
    return svg


def _event(name: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
