"""Limits beyond which a visit is invalid. Design decisions give the defaults and their reasons."""

from typing import Annotated, Any

from msgspec import Meta, Struct, structs

Share = Annotated[float, Meta(ge=0, le=1)]
"""A fraction from 0 to 1."""
Limit = Annotated[float, Meta(ge=0)]
"""A number that is not negative."""


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of the verdict. A study may set them (``[thresholds]``). Reports print them.

    A value at the limit is valid; above it is invalid.
    """

    miss_share: Share = 0.05
    """Share of requests that the recording may lack, besides those that it lacked in the
    rehearsal."""
    abort_share: Share = 0.05
    """Share of requests that may be aborted before the load event, beside those that the page
    aborts by itself."""
    missing_share: Share = 0.0
    """Share of the objects fetched in a page's rehearsals that a visit may leave out."""
    uneven_share: Share = 0.05
    """Share of the bytes before the load event that may belong to objects that only other stacks of
    the block requested."""
    loss_tail: Annotated[float, Meta(gt=0, lt=0.5)] = 1e-6
    """Probability below which a realised loss, on either side, counts as the wrong loss: in a
    visit, and over all visits of a network."""
    rate_error: Share = 0.02
    """Relative error of the realised rate, beyond what its most delayed packet explains."""
    rate_packets: Annotated[int, Meta(ge=1)] = 60
    """Full packets that the bottleneck must send back to back before its rate is judged."""
    delay_error_ms: Limit = 1.0
    """Time in ms by which the least transit may exceed the delay. The limit is `delay_error_share`
    of the delay if that is more."""
    delay_error_share: Share = 0.02
    """Share of the delay by which the least transit may exceed it. The limit is `delay_error_ms` if
    that is more."""
    step_error_ms: Limit = 20.0
    """A step of a network may come this much earlier or later, counted from the start of the
    navigation. Browsers begin to navigate some milliseconds after the command."""
    lateness_p99_ms: Limit = 1.0
    """Limit in ms of the link's 99th percentile of lateness. The limit is `lateness_p99_rtt_share`
    of the round trip if that is more."""
    lateness_p99_rtt_share: Share = 0.02
    """Limit of the link's 99th percentile of lateness, as a share of the round trip. The limit is
    `lateness_p99_ms` if that is more."""
    virtual_lateness_us: Limit = 10.0
    """Lateness in us with which a packet may leave the link in virtual time. If computing takes
    time, the time of one system call is added."""
    others_share: Share = 0.25
    """Share of all cores' time that anything but browser and server may use: the link, dragstrip
    itself, other testbeds and other programs. The share may be larger if it delayed the load by at
    most `held_up_share`."""
    precedence_share: Share = 0.28
    """Share of the page load time that computing may explain if browser and server had precedence
    over other processes. Computing explains their CPU time, at most what bytes and round trips
    leave unexplained."""
    wait_ms: Limit = 40.0
    """Time in ms that a browser or server thread may have waited for a CPU while something outside
    the testbed ran. The limit is `wait_share` of the page load time if that is more."""
    wait_share: Share = 0.1
    """Share of the page load time that a browser or server thread may have waited for a CPU. The
    limit is `wait_ms` if that is more. A longer wait is allowed if the load took at most
    `held_up_share` longer than its bytes and round trips need."""
    throttles: Annotated[int, Meta(ge=0)] = 0
    """How often a CPU may have been throttled for heat."""
    slowdown_error: Share = 0.3
    """Relative error of the client's slow-down, as a fixed script in the page measures it."""
    frequency_share: Share = 0.05
    """Share by which the CPUs' frequency limit may be below that of another visit of the block."""
    steal_share: Share = 0.02
    """Share of CPU time that the hypervisor may take. The share may be larger if it delayed the
    load by at most `held_up_share`."""
    held_up_share: Share = 0.05
    """Share of the page load time by which other processes or the hypervisor may have delayed
    browser and server. The delay is their CPU time, times the share that others used or the
    hypervisor took, and at most what bytes and round trips leave unexplained."""
    picture_share: Share = 0.1
    """Share of the final picture that may differ from the page's reference."""
    blind_ms: Limit = 50.0
    """Longest time in ms in which frames may have been lost: three display intervals."""
    clock_slack_ms: Limit = 0.2
    """Tolerance in ms for rounded browser timestamps in every check against physics."""
    clock_error_ms: Limit = 1.0
    """Time in ms by which the clock may be off after a visit. The limit is `clock_error_share` of
    the visit's time if that is more. The same limit holds between the browser's clock and the
    server's."""
    clock_error_share: Share = 0.0005
    """Share of the visit's time by which the clock may be off: 500 ppm, the fastest rate at which
    the kernel corrects a clock (adjtimex(2))."""

    def changed(self) -> dict[str, Any]:
        """Return the limits that differ from their defaults, by name."""
        mine = structs.asdict(self)
        return {name: mine[name] for name in mine if mine[name] != getattr(DEFAULTS, name)}


DEFAULTS = Thresholds()
