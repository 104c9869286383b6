"""Times of single objects as metrics, such as ``object:/css/late.css:end``."""

from urllib.parse import urlsplit

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Request, Visit
from dragstrip.visit.metric import Metric
from dragstrip.visit.metrics import METRICS

_PREFIX = "object:"
_MOMENTS = {
    "start": ("when the browser decided to fetch", "start_ms"),
    "first-byte": ("first byte of", "response_start_ms"),
    "end": ("last byte of", "end_ms"),
    "took": ("from the start to the last byte of", "took_ms"),
}
_NAMED = {m.name: m for m in METRICS}
_SHORT = {m.name.removesuffix("_ms"): m for m in METRICS}


def of_an_object(name: str) -> bool:
    return name.startswith(_PREFIX)


def find_metric(name: str) -> Metric:
    """Return the metric with this name, which may lack its `_ms`, or the metric of an object.
    Raises `InputError`."""
    if of_an_object(name):
        return _of_object(name)
    metric = _NAMED.get(name) or _SHORT.get(name)
    if metric is None:
        raise InputError(
            f"no metric {name!r}; choose from {', '.join(_SHORT)}, or object:/PATH:end"
        )
    return metric


def _of_object(name: str) -> Metric:
    target, _, moment = name.removeprefix(_PREFIX).rpartition(":")
    if moment not in _MOMENTS or not target.startswith(("/", "https:", "http:")):
        raise InputError(
            f"metric {name!r}: write object:/PATH:end or object:URL:end, with start, first-byte, "
            "end or took"
        )
    words, field = _MOMENTS[moment]

    def measure(visit: Visit, network: Network, stack: Stack) -> float | None:
        values = (_moment(r, field) for r in visit.requests if _is(r, target) and not r.error)
        return next((ms for ms in values if ms is not None), None)

    source = "the browser's requests"
    return Metric(name, "ms", "lower", f"{words} {target}", source, measure, early=True)


def _moment(request: Request, field: str) -> float | None:
    if field != "took_ms":
        value: float | None = getattr(request, field)
        return value
    ended = request.end_ms
    return None if ended is None or request.start_ms is None else ended - request.start_ms


def _is(request: Request, target: str) -> bool:
    """Return whether the request is for the target. A path matches on any host. A path without a
    query matches any query."""
    if not target.startswith("/"):
        return request.url == target
    url = urlsplit(request.url)
    return target in (url.path, f"{url.path}?{url.query}")
