"""Each check has a row that names correct behaviour it allows; and behaviour of its own kind."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from msgspec import structs

import made
from dragstrip import verdict
from dragstrip.model.visit import Visit
from dragstrip.verdict.judge import judge

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/verdict-checks.md").read_text(encoding="utf-8")
TIMES = ("connect_end_ms", "send_start_ms", "send_end_ms", "response_start_ms", "end_ms")


def checks() -> set[str]:
    """``module.function`` of everything that yields reasons."""
    found = set()
    for module in pkgutil.iter_modules(verdict.__path__):
        of_it = vars(import_module(f"dragstrip.verdict.{module.name}"))
        for name, function in of_it.items():
            own = inspect.isfunction(function) and function.__module__.endswith(module.name)
            if own and not name.startswith("_") and "Reason]" in str(inspect.signature(function)):
                found.add(f"{module.name}.{name}")
    return found


HELPERS = {"early_checks.unused", "judge.judge"}
"""Parts of other checks."""


def test_each_check_names_what_it_allows():
    named = set(re.findall(r"`([a-z_]+(?:\.[a-zA-Z_]+)?)`", PAGE))
    whole = {name for name in named if "." not in name}
    missing = {c for c in checks() - HELPERS if c not in named and c.partition(".")[0] not in whole}
    assert missing == set()


def test_the_tests_that_it_names_exist():
    named = re.findall(r"`(tests/[^`]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def later(visit: Visit, by_ms: float) -> Visit:
    """The visit, with everything after the connection's start later by `by_ms`."""

    def moved(ms: float | None) -> float | None:
        return None if ms is None else ms + by_ms

    first, *others = visit.requests
    first = structs.replace(first, **{name: moved(getattr(first, name)) for name in TIMES})
    others = [
        structs.replace(r, **{n: moved(getattr(r, n)) for n in (*TIMES, "start_ms")})
        for r in others
    ]
    served = (
        structs.replace(s, t_us=s.t_us + round(by_ms * 1000), end_us=s.end_us + round(by_ms * 1000))
        for s in visit.served
    )
    return structs.replace(
        visit,
        requests=(first, *others),
        served=tuple(served),
        plt_ms=moved(visit.plt_ms),
        dcl_ms=moved(visit.dcl_ms),
        ttfb_ms=moved(visit.ttfb_ms),
        connect_to_response_ms=moved(visit.connect_to_response_ms),
    )


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_a_first_handshake_may_take_a_round_trip_more(protocol):
    """A server that asks for another key share (HelloRetryRequest) or for a token (Retry)."""
    visit = later(made.visit(protocol), made.LTE.least_rtt_ms)
    stack = made.STACKS[protocol]
    assert judge(visit, made.PAGE, made.LTE, stack, made.study().thresholds) == ()
