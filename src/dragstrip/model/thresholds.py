"""From where on a visit is no longer believed. Defaults and reasons: design decisions."""

from typing import Annotated, Any

from msgspec import Meta, Struct, structs

Share = Annotated[float, Meta(ge=0, le=1)]
"""A share of 1."""
Limit = Annotated[float, Meta(ge=0)]
"""Not negative."""


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of the verdict, which a study may set (``[thresholds]``). A report prints them.

    What reaches a limit is still believed; what exceeds it is not.
    """

    miss_share: Share = 0.05
    """Share of requests that the recording may lack, beyond those it lacked in the rehearsal."""
    abort_share: Share = 0.05
    """Share of requests that may be aborted before the load event, by the page's own scripts."""
    missing_share: Share = 0.0
    """Share of the objects a page fetched in its rehearsals that a visit may never ask for."""
    uneven_share: Share = 0.05
    """Share of the bytes before the load event that may belong to objects for which other stacks of
    the block asked alone."""
    loss_tail: Annotated[float, Meta(gt=0, lt=0.5)] = 1e-6
    """A realised loss less probable than this, on either side, is not the loss asked for: in a
    visit, and over all visits of a network."""
    rate_error: Share = 0.02
    """Relative error of the realised rate, beyond what its latest packet explains."""
    rate_packets: Annotated[int, Meta(ge=1)] = 60
    """The rate is judged once the bottleneck sent this many full packets back to back."""
    delay_error_ms: Limit = 1.0
    """The least transit may exceed the delay by this, or by the next if that is more."""
    delay_error_share: Share = 0.02
    """Share of the delay, see the one before."""
    lateness_p99_ms: Limit = 1.0
    """The link's 99th percentile of lateness may reach this, or the next if that is more."""
    lateness_p99_rtt_share: Share = 0.02
    """Share of the round trip, see the one before."""
    virtual_lateness_us: Limit = 10.0
    """In virtual time without computing no packet may leave the link later than this."""
    others_share: Share = 0.25
    """Share of all cores' time that others than browser and server may use: the link, what drives
    the visit, testbeds beside it, and whatever else runs; or more, up to `held_up_share`."""
    precedence_share: Share = 0.35
    """Share of the page load time that bytes and round trips may leave unexplained where others
    used more than the one before, and browser and server had precedence over them."""
    wait_ms: Limit = 120.0
    """A thread of browser or server may have waited this long for a CPU, or the next if that is
    more."""
    wait_share: Share = 0.5
    """Share of the page load time, see the one before; or more, where the load took no longer than
    its bytes and round trips need, up to `held_up_share`."""
    throttles: Annotated[int, Meta(ge=0)] = 0
    """A CPU may have been throttled for heat this often."""
    frequency_share: Share = 0.05
    """Share by which CPUs may be limited below the frequency of another visit of the block."""
    steal_share: Share = 0.02
    """Share of CPU time the hypervisor may take away; or more, up to `held_up_share`."""
    held_up_share: Share = 0.05
    """Share of the page load time for which others or the hypervisor may have held up browser and
    server: these two's CPU time, times the share of others, or times the time that was taken for
    each second of computing; but no more than what bytes and round trips leave unexplained."""
    picture_share: Share = 0.1
    """Share of the final picture that may differ from the page's reference."""
    blind_ms: Limit = 50.0
    """Longest time in which frames may have been lost: three display intervals."""
    clock_slack_ms: Limit = 0.2
    """Allowance for rounding of browser timestamps in every check against physics."""
    clock_error_ms: Limit = 1.0
    """The clock may be off by this after a visit, or by the next if that is more; so may the
    browser's be from the server's."""
    clock_error_share: Share = 0.0005
    """Share of the visit's time, see the one before: 500 ppm, the fastest the kernel slews a
    clock (adjtimex(2))."""

    def changed(self) -> dict[str, Any]:
        """Limits that are not the default's."""
        mine = structs.asdict(self)
        return {name: mine[name] for name in mine if mine[name] != getattr(DEFAULTS, name)}


DEFAULTS = Thresholds()
