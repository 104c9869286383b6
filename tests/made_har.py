"""HARs of made visits: one that loaded, one whose request stayed without an answer."""

import json
from typing import Any

from msgspec import structs

import made
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.visit.har import har


def archive(**changes: object) -> dict[str, Any]:
    visit = made.visit("h3", **changes)
    load = Load(
        outcome=visit.outcome,
        sent_s=1_600_000_000.0,
        time_origin_s=1_600_000_000.0,
        exchanges=tuple(
            Exchange(
                request=r,
                request_headers=(("accept", "*/*"),),
                response_headers=(("content-type", "text/html"),),
            )
            for r in visit.requests
        ),
    )
    found: dict[str, Any] = json.loads(
        json.dumps(har(visit, load, "https://a.test/", "Chromium 156"))
    )
    return found


def unanswered() -> dict[str, Any]:
    lost = structs.replace(
        made.request("https://a.test/lost?a=1&a=", "h3", 10.0),
        protocol=None,
        status=0,
        send_start_ms=None,
        send_end_ms=None,
        response_start_ms=None,
        end_ms=None,
        error="net::ERR_QUIC_PROTOCOL_ERROR",
    )
    return archive(requests=(lost,), outcome="failed", plt_ms=None, dcl_ms=None)
