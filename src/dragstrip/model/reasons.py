"""What each reason against a visit means, and what to do about it.

The same words stand in docs/explanation/verdict.md.
"""

from collections.abc import Mapping

from msgspec import Struct

from dragstrip.model.visit import ReasonCode


class Meaning(Struct, frozen=True):
    what: str
    mend: str


REASONS: Mapping[ReasonCode, Meaning] = {
    "fallback": Meaning(
        "no request used the protocol the stack asks for, according to the browser or the origin; "
        "or hosts announced HTTP/3 by Alt-Svc and were never tried, heard or used over QUIC",
        "the browser did not get, or did not obey, the flags that force the protocol; or something "
        "drops UDP",
    ),
    "mixed": Meaning(
        "some requests used another protocol; the first are named",
        "as for fallback, for the named hosts",
    ),
    "stack-drift": Meaning(
        "browser and origin disagree, or an answer came from a foreign address or port, under a "
        "foreign certificate, or a name was looked up outside; or the stack is not what it claims: "
        "congestion control, initial window, pacing, packet size, a repeat visit that resumed "
        "nothing or used open connections, early data that was refused",
        "look for a route out of the testbed, a proxy or a cache; connections.parquet names what "
        "was in effect",
    ),
    "replay-miss": Meaning(
        "a recorded object was not served; or the request for one failed before the origin heard "
        "of it, and not by the network: a certificate, a name, a refused connection; or more than "
        "5 % of the requests are neither in the recording nor known from the rehearsal; or misses "
        "differ between the stacks of a block",
        "`dragstrip page show`; record the page again",
    ),
    "content-mismatch": Meaning(
        "status, size or hash of an answer are not those of the recording, according to the origin "
        "or the browser; or the page never asked for what it fetches in its rehearsals; or the "
        "stacks of a block were sent different bodies, or fetched more than 5 % of the bytes alone",
        "look for something that changes or cuts answers; a page that asks for other objects at "
        "every visit needs a higher `missing_share` or `uneven_share`",
    ),
    "warm": Meaning(
        "a first visit resumed a TLS session, used an open connection, sent early data or found an "
        "answer in a cache",
        "state leaked from an earlier visit: report a bug",
    ),
    "impossible": Meaning(
        "the load, its first byte or an answer was faster than bytes over rate and the round trips "
        "allow",
        "the link was not in the path",
    ),
    "link-drift": Meaning(
        "loss, rate, delay or packet size are not what was asked, in a visit or, for loss, over "
        "all visits of a network; or stacks of a block lost different packets; or fewer bytes "
        "crossed the link than the browser received, from any host; or packets reached the "
        "origin's side and it saw no connection",
        "`dragstrip doctor`; look for offloads and firewalls inside the testbed",
    ),
    "picture-mismatch": Meaning(
        "more than 10 % of the final picture is not that of the recording or, where it has none, "
        "of the page's first valid visit; judged only where frames are looked at",
        "compare the last pictures in `frames/`; a page with a carousel or a clock needs a higher "
        "`picture_share`",
    ),
    "overloaded": Meaning(
        "the link was late, a thread of browser or server waited for a CPU, the hypervisor took "
        "CPU time away, or CPUs were slowed down for heat, each beyond its limit; or, where frames "
        "are looked at, some may have been lost",
        "a quieter machine, fewer visits at once; run as root, so that the link gets real-time "
        "priority",
    ),
    "aborted": Meaning(
        "something other than the stack or the network ended the load: the navigation, or more "
        "than 5 % of the requests, were aborted before the load event",
        "find out what closes the tab or stops the page; a page whose scripts abort many requests "
        "needs a higher `abort_share`",
    ),
    "clock-jump": Meaning(
        "the clock was set during the visit, or the browser's times do not fit the server's",
        "let no time service step the clock during a study (slewing is harmless); restart the "
        "study after it was set",
    ),
}
