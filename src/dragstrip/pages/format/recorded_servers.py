"""Finds the servers of a recording: their addresses, and the hosts that their certificates
cover."""

from collections import Counter
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any

from dragstrip.pages.format.recording import Certificate

_NAMED = 6

Told = Sequence[tuple[str, str]]
"""Host and address of each answer; the address is empty if unknown."""


def normal(text: str) -> str:
    """Return an IP address in its usual notation; empty if `text` is not an address."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare.partition("%")[0])
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def settled(told: Told) -> tuple[list[str], list[str]]:
    """Return the address of each answer in its usual notation, and sentences on changes. A proxy on
    the recorder's machine answers for every host, so its address is ignored."""
    found = [normal(text) for _, text in told]
    near = {ip for ip in found if ip and _no_server(ip)}
    found = ["" if ip in near else ip for ip in found]
    said = [
        f"the recording names {ip} as its server, which is no server's address: it is left out"
        for ip in sorted(near)
    ]
    several: dict[str, set[str]] = {}
    for (host, _), ip in zip(told, found, strict=True):
        several.setdefault(host, set()).update({ip} - {""})
    hosts = [f"{host} {len(ips)}" for host, ips in several.items() if len(ips) > 1]
    if hosts:
        more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
        said.append(
            f"{len(hosts)} hosts answered from several addresses, and keep the one that answered "
            f"most often: {', '.join(hosts[:_NAMED])}{more}"
        )
    return found, said


def addresses(told: Told) -> dict[str, str]:
    """Return the address that answered most often, by host; on a tie the first one. Hosts without
    an address are left out."""
    counts: dict[str, Counter[str]] = {}
    for host, ip in told:
        if ip:
            counts.setdefault(host, Counter())[ip] += 1
    return {host: max(of, key=of.__getitem__) for host, of in counts.items()}


def certificate(details: Any) -> Certificate | None:
    """Return the certificate in a `Network.SecurityDetails` of the DevTools protocol. Browsers'
    HARs contain this object, too: WebPageTest's completely, Playwright's without the alternative
    names. None if it has no names."""
    if not isinstance(details, dict):
        return None
    listed = details.get("sanList")
    names = [details.get("subjectName"), *(listed if isinstance(listed, list) else ())]
    known = tuple(name.lower() for name in names if isinstance(name, str) and name)
    told = [details.get(field) for field in ("issuer", "validFrom", "validTo")]
    return Certificate(id=repr((known, told)), names=known) if known else None


def covered(
    shown: Iterable[tuple[str, Certificate | None]], hosts: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return for each host which members of `hosts` its certificate covers. If a host showed
    several certificates, its first one counts.

    A certificate covers its names (RFC 9525) and every host that showed it.
    """
    first: dict[str, Certificate] = {}
    names: dict[str, set[str]] = {}
    for host, certificate in shown:
        if certificate:
            first.setdefault(host, certificate)
            names.setdefault(certificate.id, {host}).update((*certificate.names, host))
    every = list(hosts)
    return {
        host: tuple(h for h in every if _matches(h, names[certificate.id]))
        for host, certificate in first.items()
    }


def _matches(host: str, names: set[str]) -> bool:
    return host in names or f"*.{host.partition('.')[2]}" in names


def _no_server(ip: str) -> bool:
    found = ip_address(ip)
    return found.is_loopback or found.is_unspecified or found.is_multicast
