"""Checks that the host was idle enough for link, browser and server to run on time."""

from collections.abc import Iterator
from math import inf

from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import HostReport, Reason, Visit
from dragstrip.verdict.rules import OLDER_WAITS
from dragstrip.visit.ideal import needed_ms


def on_time(visit: Visit, network: Network, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if the link was late: then the host did not keep up."""
    if visit.link is None:
        return
    limit_ms = max(limits.lateness_p99_ms, limits.lateness_p99_rtt_share * network.rtt_ms)
    for side, report in (("down", visit.link.down), ("up", visit.link.up)):
        late_us = report.lateness_p99_us
        if late_us is not None and late_us > limit_ms * 1000:
            yield Reason(
                "overloaded",
                f"{side}: 1 % of the packets left more than {late_us / 1000:.2f} ms late (limit "
                f"{limit_ms:g} ms)",
            )


def stolen(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons for CPU time that the hypervisor gave to other machines, relative to the CPU
    time of this testbed."""
    if visit.host is None or visit.host.steal_share <= limits.steal_share:
        return
    taken = visit.host.steal_share
    held_up = _held_up(visit, network, stack, taken / max(visit.host.busy_share - taken, 1e-9))
    if held_up > limits.held_up_share:
        yield Reason(
            "overloaded",
            f"the hypervisor took {taken:.1%} of the CPU time (limit {limits.steal_share:.0%}), "
            f"{_of_the_load(held_up, limits)}",
        )


def crowded(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons for CPU time that other processes used.

    Other processes take no CPU time from processes with precedence. But precedence itself changes
    loads that are dominated by computing. So with precedence, a load is valid only if the network
    dominates it (bench/visits/held_up.py).
    """
    share = visit.host.others_share if visit.host else None
    if visit.host is None or share is None:
        return
    if visit.host.precedence:
        computed = _held_up(visit, network, stack, 1.0)
        if computed > limits.precedence_share:
            yield Reason(
                "overloaded",
                "browser and server had precedence on a busy machine, which changes loads that "
                f"computing dominates: it may explain {computed:.0%} of this one (limit "
                f"{limits.precedence_share:.0%})",
            )
        return
    if share <= limits.others_share:
        return
    held_up = _held_up(visit, network, stack, share)
    if held_up > limits.held_up_share:
        yield Reason(
            "overloaded",
            f"processes other than browser and server used {share:.0%} of the CPU time (limit "
            f"{limits.others_share:.0%}), {_of_the_load(held_up, limits)}",
        )


def heated(visit: Visit, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if a hot CPU was throttled."""
    times = visit.host.throttled if visit.host else None
    if times is not None and times > limits.throttles:
        yield Reason(
            "overloaded",
            f"CPUs were throttled for heat {times} times (limit {limits.throttles})",
        )


def waited(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if a browser or server thread was ready to run for long while other processes
    had the CPUs.

    Threads of one browser also wait for each other. A thread cannot have waited for other processes
    longer than they ran, so at most that time counts. Other processes do not delay a testbed with
    precedence, unless a parallel testbed has precedence, too (`crowded` judges such visits).
    """
    if visit.host is None or (visit.host.precedence and not visit.beside):
        return
    outside_s = visit.host.outside_cpu_s
    if outside_s is None:
        limits = _for_older_evidence(limits)
    outside_ms = inf if outside_s is None else outside_s * 1000
    limit_ms = max(limits.wait_ms, limits.wait_share * _spent_ms(visit, visit.host))
    for who, wait_ms in (
        ("browser", visit.host.browser_wait_ms),
        ("server", visit.host.server_wait_ms),
    ):
        if wait_ms is None or min(wait_ms, outside_ms) <= limit_ms:
            continue
        if _beyond_need(visit, network, stack) > limits.held_up_share:
            ran = "" if outside_s is None else f", and others ran for {outside_ms:.0f} ms"
            yield Reason(
                "overloaded",
                f"a thread of the {who} waited {wait_ms:.1f} ms for a CPU{ran} (limit "
                f"{limit_ms:.1f} ms)",
            )


def _for_older_evidence(limits: Thresholds) -> Thresholds:
    """Return the limits, with defaults for older evidence. Limits that a study set stay."""
    changed = limits.changed()
    defaults = {n: v for n, v in OLDER_WAITS.items() if n not in changed}
    return structs.replace(limits, **defaults)


def _beyond_need(visit: Visit, network: Network, stack: Stack) -> float:
    """Return the share of the load time that bytes and round trips do not explain. It is an upper
    bound of the time spent waiting for a CPU."""
    needed = needed_ms(visit, network, stack)
    return 1 - needed / visit.plt_ms if visit.plt_ms and needed else inf


def _held_up(visit: Visit, network: Network, stack: Stack, share: float) -> float:
    """Return the share of the load time by which browser and server were delayed, if each second of
    computing took `share` longer. Only computing can be delayed, and a page on a slow link computes
    little. The delay is at most the time that bytes and round trips do not explain."""
    host, longer = visit.host, inf
    if host and host.browser_cpu_s is not None:
        computed_ms = (host.browser_cpu_s + (host.origin_cpu_s or 0.0)) * 1000
        longer = share * computed_ms / _spent_ms(visit, host)
    return min(longer, _beyond_need(visit, network, stack))


def _of_the_load(held_up: float, limits: Thresholds) -> str:
    return (
        f"which may have delayed browser and server for {held_up:.1%} of the load (limit "
        f"{limits.held_up_share:.0%})"
    )


def _spent_ms(visit: Visit, host: HostReport) -> float:
    return visit.plt_ms if visit.plt_ms is not None else host.wall_ms
