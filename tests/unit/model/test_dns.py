"""A resolver's settings: what they say, what they refuse, which names they make slow."""

import re

import msgspec
import pytest

import made
from dragstrip.model.errors import InputError
from dragstrip.model.names import AT_ONCE, Dns
from dragstrip.study.networks import read_network


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"delay_ms": -1}, "delay_ms must be between 0 and 60000 ms"),
        ({"delay_ms": 1e9}, "delay_ms must be between 0 and 60000 ms"),
        ({"upstream_ms": -5}, "upstream_ms must be between"),
        ({"loss": 1.5}, "loss must be a share"),
        ({"loss": 1}, "loss must be below 1"),
        ({"ttl_s": 0}, "ttl_s must be between 1 and 604800"),
        ({"misses": 0.5}, "misses is the share of names that take upstream_ms"),
        ({"upstream_ms": 5, "misses": 2}, "misses must be a share"),
        ({"transport": "none", "delay_ms": 5}, "asks no resolver: omit the other keys"),
        ({"transport": "none", "broken_ipv6": True}, "asks no resolver: omit the other keys"),
        ({"broken_ipv6": 1}, "needs `bool`, not `int`"),
        ({"transport": "dot"}, "Invalid enum value 'dot'"),
        ({"delay": 5}, "unknown key `delay`"),
        ({"delay_ms": "20ms"}, "needs `float`, not `str`"),
    ],
)
def test_a_resolver_that_makes_no_sense_is_refused_with_its_place(given, why, tmp_path):
    with pytest.raises(InputError, match=f"dns.*{re.escape(why)}|{re.escape(why)}.*dns"):
        read_network("n", {"down": {}, "up": {}, "dns": given}, tmp_path)


def test_a_network_says_how_its_names_resolve(tmp_path):
    def said(dns: object) -> str:
        given = {"down": {}, "up": {}, "source": "", **({"dns": dns} if dns else {})}
        return read_network("n", given, tmp_path).describe_with_names()

    assert said(None).endswith(AT_ONCE)
    assert said({"transport": "none"}).endswith(AT_ONCE)
    assert said({"delay_ms": 25}).endswith("names by UDP from a resolver 50 ms away (round trip)")
    slow = said({"delay_ms": 25, "loss": 0.02, "upstream_ms": 80, "misses": 0.3})
    assert slow.endswith("loss 2 % each way, which needs 80 ms for 30 % of names at first")
    assert said({"broken_ipv6": True}).endswith("IPv6 addresses lead nowhere")
    assert "by HTTPS" in said({"transport": "doh", "ttl_s": 60})
    assert said({"transport": "doh", "ttl_s": 60}).endswith("answers live 60 s")


def test_the_seed_decides_which_names_the_resolver_does_not_know():
    hosts = [f"host{i}.test" for i in range(1000)]
    dns = Dns(delay_ms=1, upstream_ms=50, misses=0.3)
    assert dns.unknown(hosts, 1) == dns.unknown(reversed(hosts), 1)
    assert dns.unknown(hosts, 1) != dns.unknown(hosts, 2)
    assert 240 <= len(dns.unknown(hosts, 1)) <= 360
    assert Dns(upstream_ms=50).unknown(hosts, 1) == set(hosts)
    assert not Dns(delay_ms=1).unknown(hosts, 1)


def test_a_network_of_an_older_capsule_has_no_resolver():
    kept = msgspec.to_builtins(made.LTE)
    del kept["dns"]
    network = msgspec.convert(kept, type(made.LTE))
    assert network.dns is None
    assert network.ask == "none"


def test_only_a_lossy_path_to_the_resolver_leaves_something_to_chance():
    def network(dns: Dns | None) -> bool:
        return msgspec.structs.replace(made.LTE, dns=dns).chance

    assert [network(d) for d in (None, Dns(delay_ms=9), Dns(loss=0.1))] == [False, False, True]
