"""The testbed's resolver in real namespaces: its answers, their path, and who can query it."""

import json
import time
from ipaddress import IPv6Address

import pytest
from msgspec import structs

from dragstrip.model.ech import OWN
from dragstrip.model.names import Dns, nowhere
from dragstrip.model.stack import Stack
from dragstrip.study.presets import find_stack, in_browser
from dragstrip.testbed.net.layout import one_each
from dragstrip.testbed.net.wires import RESOLVER_IP
from dragstrip.testbed.servers.site import port_of
from dragstrip.testbed.testbed import Testbed
from dragstrip.testbed.testbed import testbed_of as make_testbed

H2, HTTPS = find_stack("h2"), find_stack("h3-https")
OTHER_PORT = structs.replace(in_browser(find_stack("quic-go-h2"), "chromium"), ech="keys")
_ASK = """
import json, socket, struct, sys
server, name, kind, patience_s = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
question = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\\0"
ask = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ask.settimeout(patience_s)
head, tail = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0), struct.pack(">2H", kind, 1)
ask.sendto(head + question + tail, (server, 53))
try:
    got = ask.recv(4096)
except OSError:
    print("null")
else:
    print(json.dumps({"code": got[3] & 15, "answers": got[7], "said": got.hex()}))
"""


def ask(bed: Testbed, name: str, kind: int = 1, server: str = RESOLVER_IP, patience_s: float = 5.0):
    argv = ("python3", "-c", _ASK, server, name, str(kind), str(patience_s))
    return json.loads(bed.spaces.run("client", *argv))


@pytest.fixture(scope="module")
def bed():
    with make_testbed([one_each(["a.test", "b.test"])], resolves=True) as made:
        yield made


def resolve(bed: Testbed, stack: Stack, dns: Dns | None = None) -> None:
    bed.resolve(stack, dns, seed=1)


def test_a_record_of_another_port_has_the_name_of_its_port(bed):
    """RFC 9460 section 9.1."""
    resolve(bed, OTHER_PORT)
    port = port_of(OTHER_PORT.serving)
    found = ask(bed, f"_{port}._https.a.test", kind=65)
    assert (found["code"], found["answers"]) == (0, 1)
    assert OWN.public.hex() in found["said"]
    assert ask(bed, f"_{port + 1}._https.a.test", kind=65)["code"] == 3
    (first, _) = bed.resolver.report().lookups
    assert first.host == "a.test"
    resolve(bed, structs.replace(OTHER_PORT, ech="none"))
    assert ask(bed, f"_{port}._https.a.test", kind=65)["code"] == 3


def test_it_knows_the_pages_hosts_and_nothing_else(bed):
    resolve(bed, H2)
    found = ask(bed, "a.test")
    assert found["answers"] == 1
    assert found["said"].endswith("0a400101")  # 10.64.1.1
    assert ask(bed, "a.test", kind=28) | {"said": ""} == {"code": 0, "answers": 0, "said": ""}
    assert ask(bed, "example.com")["code"] == 3
    seen = [(x.name, x.kind, x.transport, x.answers) for x in bed.resolver.report().lookups]
    assert seen == [
        ("a.test", "A", "udp", 1),
        ("a.test", "AAAA", "udp", 0),
        ("example.com", "A", "udp", 0),
    ]


def test_only_a_stack_that_needs_them_has_https_records(bed):
    resolve(bed, H2)
    assert ask(bed, "b.test", kind=65)["answers"] == 0
    resolve(bed, HTTPS)
    said = bytes.fromhex(ask(bed, "b.test", kind=65)["said"])
    assert b"\x02h3\x02h2" in said
    assert said.endswith(bytes([10, 64, 1, 2]))  # the hint


def test_the_path_delays_every_query_and_counts_it(bed):
    resolve(bed, H2, Dns(delay_ms=40, upstream_ms=100))
    begun = time.monotonic()
    ask(bed, "a.test")
    assert time.monotonic() - begun >= 0.18
    report = bed.resolver.report()
    assert report.path.up.packets_in == report.path.down.packets_in == 1
    assert report.path.up.transit_min_ms >= 40
    (seen,) = report.lookups
    assert seen.missed
    assert seen.answered_us - seen.t_us >= 100_000


def test_the_second_look_up_of_a_name_needs_no_upstream(bed):
    resolve(bed, H2, Dns(upstream_ms=100))
    for _ in range(2):
        ask(bed, "a.test")
    assert [x.missed for x in bed.resolver.report().lookups] == [True, False]


def test_a_lost_query_is_no_look_up(bed):
    resolve(bed, H2, Dns(loss=0.999999))
    assert ask(bed, "a.test", patience_s=0.3) is None
    report = bed.resolver.report()
    assert (report.lookups, report.path.up.dropped_loss) == ((), 1)


def test_no_other_resolver_can_be_reached(bed):
    resolve(bed, H2)
    assert ask(bed, "a.test", server="192.0.2.53", patience_s=0.3) is None
    assert ask(bed, "a.test", server="127.0.0.53", patience_s=0.3) is None


@pytest.fixture(scope="module")
def broken():
    with make_testbed([one_each(["a.test"])], resolves=True, broken_ipv6=True) as made:
        made.link.passthrough()
        yield made


_CONNECT = """
import socket, sys
ask = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
ask.settimeout(0.5)
try:
    ask.connect((sys.argv[1], 443))
except TimeoutError:
    print("nothing")
"""


def test_broken_ipv6_has_addresses_at_which_nothing_answers(broken):
    dns = Dns(broken_ipv6=True)
    resolve(broken, H2, dns)
    assert ask(broken, "a.test")["said"].endswith("0a400101")
    found = ask(broken, "a.test", kind=28)
    assert found["said"].endswith(IPv6Address(nowhere("10.64.1.1")).packed.hex())
    assert (
        broken.spaces.run("client", "python3", "-c", _CONNECT, nowhere("10.64.1.1")) == "nothing\n"
    )
    report = broken.link.report()
    assert [e.address for e in report.up.far_ends] == [nowhere("10.64.1.1")]
    assert not report.down.far_ends
    resolve(broken, H2)
    assert ask(broken, "a.test", kind=28)["answers"] == 0
