"""Devices: how much slower than this machine a client's processor is.

A slow-down is relative to the machine that races. The named ones are Lighthouse's, from a fast
desktop (its BenchmarkIndex is 1,500 to 2,000); each class spans a wide range.
Source: https://github.com/GoogleChrome/lighthouse/blob/main/docs/throttling.md
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.study.presets import suggest


class Device(Struct, frozen=True, kw_only=True):
    cpu_slowdown: float
    """How many times slower than a fast desktop's processor."""
    what: str
    """An example of such a device, and the range of slow-downs in its class."""


_SOURCE = "Lighthouse, docs/throttling.md"
DEVICES: Mapping[str, Device] = {
    "high-end-mobile": Device(cpu_slowdown=2, what=f"Samsung S10, 1 to 4 ({_SOURCE})"),
    "mid-tier-mobile": Device(cpu_slowdown=4, what=f"Moto G4, 2 to 10 ({_SOURCE})"),
    "low-end-mobile": Device(cpu_slowdown=10, what=f"Samsung Galaxy J2, 5 to 20 ({_SOURCE})"),
}


def find_slowdown(text: str) -> float:
    """Return the slow-down of a device, given by name or as ``4x``. Raises `InputError`."""
    if text in DEVICES:
        return DEVICES[text].cpu_slowdown
    given = re.fullmatch(r"(\d+(?:\.\d+)?)x", text)
    if given and 1 <= float(given[1]) <= 100:
        return float(given[1])
    raise InputError(
        f"unknown device {text!r}{suggest(text, DEVICES)}; choose from {', '.join(DEVICES)}, or "
        "say how many times slower it is, from 1x to 100x"
    )


def check_device(study: Study) -> None:
    """Raise `InputError` if a stack's browser cannot be as slow as the study asks."""
    if study.client.cpu_slowdown == 1:
        return
    if study.clock.virtual and not study.clock.prices_ns:
        raise InputError(
            f"cpu_slowdown: by the clock {study.clock.kind!r} computing takes no time, so a slower "
            "client loads as fast: race without --no-computing, or in real time"
        )
    for stack in study.stacks:
        browser = stack.loaded_by
        if browser.follows_graphs:
            raise InputError(
                f"cpu_slowdown: stack {stack.name!r} is loaded by {browser.what}, and computes "
                "nothing of a page: race with a browser"
            )
        if not (browser.slows_down or study.clock.virtual):
            raise InputError(
                f"cpu_slowdown: stack {stack.name!r} is loaded by {browser.what}, which cannot be "
                "slowed down in real time: race with --virtual, or in Chromium"
            )
