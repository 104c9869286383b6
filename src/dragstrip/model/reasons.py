"""The meaning of each reason against a visit, and what to do about it.

docs/explanation/verdict.md has the same words.
"""

from collections.abc import Mapping

from msgspec import Struct

from dragstrip.model.visit import ReasonCode


class Meaning(Struct, frozen=True):
    what: str
    fix: str


REASONS: Mapping[ReasonCode, Meaning] = {
    "fallback": Meaning(
        "no request used the stack's protocol, according to the browser or the origin; or hosts "
        "announced HTTP/3 by Alt-Svc, but the browser never tried, reached or used them over QUIC",
        "check that the browser gets and obeys the flags that force the protocol, and that "
        "nothing drops UDP",
    ),
    "mixed": Meaning(
        "some requests used another protocol; the detail names the first",
        "as for fallback, for the named hosts",
    ),
    "stack-drift": Meaning(
        "browser and origin disagree; or an answer came from a foreign address, port or "
        "certificate, or over a connection to another host whose address or certificate is not "
        "theirs; or a name was resolved outside the testbed; or the stack is not in its "
        "claimed state: congestion control, initial window, pacing, packet size, a repeat visit "
        "that resumed nothing or used open connections, early data that was refused",
        "look for a route out of the testbed, a proxy or a cache; connections.parquet shows the "
        "settings in effect",
    ),
    "device-drift": Meaning(
        "the client's processor was not as slow as the study asks, as a fixed script in the page "
        "found after the load",
        "race on a quiet machine; the script is short, so another program can disturb it",
    ),
    "replay-miss": Meaning(
        "a recorded object was not served; or the request for one failed before it reached the "
        "origin, for a reason other than the network: a certificate, a name, a refused "
        "connection; or more than 5 % of the requests are neither in the recording nor known from "
        "the rehearsal; or misses differ between the stacks of a block",
        "`dragstrip page show`; record the page again",
    ),
    "content-mismatch": Meaning(
        "an answer's status, size or hash is not the recorded one, according to the origin or the "
        "browser; or the page did not request what it requested in its rehearsals; or stacks of a "
        "block received different bodies; or one stack alone fetched more than 5 % of the bytes",
        "look for something that changes or truncates answers; a page that requests different "
        "objects on each visit needs a higher `missing_share` or `uneven_share`",
    ),
    "warm": Meaning(
        "a first visit resumed a TLS session, used an open connection, sent early data or found an "
        "answer in a cache",
        "state leaked from an earlier visit; please report a bug",
    ),
    "impossible": Meaning(
        "the load, its first byte or an answer was faster than bytes / rate and the round trips "
        "allow",
        "find out why the link was not in the path",
    ),
    "link-drift": Meaning(
        "loss, rate, delay or packet size differ from the network's, in a visit or, for loss, "
        "over all visits of a network; or stacks of a block lost different packets; or the "
        "kernel dropped packets around the link; or the "
        "browser received more bytes, from any host, than crossed the link; or packets reached "
        "the origin's side, but the origin saw no connection",
        "`dragstrip doctor`; look for offloads and firewalls inside the testbed; for packets that "
        "the kernel dropped, run fewer jobs or raise `net.core.netdev_max_backlog`",
    ),
    "picture-mismatch": Meaning(
        "more than 10 % of the final picture differs from the recording's or, if that has none, "
        "from the page's first valid visit; judged only if frames are recorded",
        "compare the last pictures in `frames/`; a page with a carousel or a clock needs a higher "
        "`picture_share`",
    ),
    "overloaded": Meaning(
        "beyond its limit, the link was late, a browser or server thread waited for a CPU that "
        "others used, the hypervisor took CPU time, or CPUs were throttled for heat; or, if frames "
        "are recorded, some may be lost",
        "use a quieter machine or fewer jobs; run as root, so that the link gets real-time "
        "priority",
    ),
    "aborted": Meaning(
        "something other than the stack or the network ended the load: the navigation, or more "
        "than 5 % of the requests, were aborted before the load event; what the page aborts by "
        "itself does not count",
        "find out what closes the tab or stops the page",
    ),
    "clock-jump": Meaning(
        "the clock was set during the visit, or the browser's times do not match the server's",
        "stop time services from stepping the clock during a study (slewing is harmless); restart "
        "the study after the clock was set",
    ),
}
