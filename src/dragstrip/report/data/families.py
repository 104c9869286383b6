"""Compares the cells of a study that differ only in their network's address family."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import structs

from dragstrip.model.family import HEADER_BYTES, TCP_HEADER_BYTES, UDP_HEADER_BYTES
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import CellKey, Study
from dragstrip.report.words.numbers import listed
from dragstrip.results.observed import Observations

_LONGER = HEADER_BYTES[6] - HEADER_BYTES[4]


def families(study: Study, loads: Mapping[CellKey, Sequence[Observations]]) -> list[str]:
    """Return sentences on load times over IPv6 against IPv4, one per page and pair of networks, and
    a last one on what else differs. Empty unless two networks differ in their family alone. `loads`
    are the page load times of each cell, by stack."""
    pairs = [(one, other) for other in study.networks if (one := _twin(study, other))]
    said = [
        line
        for page in study.pages
        for four, six in pairs
        for mode in study.connections
        if (
            line := _ratios(
                study,
                f"{page.name} over {six.name} against {four.name}",
                loads.get((page.name, four.name, mode)),
                loads.get((page.name, six.name, mode)),
            )
        )
    ]
    return [*said, also_differs(study.stacks, [six for _, six in pairs])] if said else []


def _twin(study: Study, network: Network) -> Network | None:
    """Return the study's network that is the same over IPv4; None for a network over IPv4."""
    if network.family == 4:
        return None
    for other in study.networks:
        named = structs.replace(network, name=other.name, source=other.source, family=4)
        if named == other:
            return other
    return None


def _ratios(
    study: Study,
    where: str,
    four: Sequence[Observations] | None,
    six: Sequence[Observations] | None,
) -> str:
    parts = []
    for stack, before, after in zip(study.stacks, four or (), six or (), strict=False):
        if len(before.known) and len(after.known):
            share = float(np.median(after.known) / np.median(before.known)) - 1
            parts.append(f"{stack.name} {share * 100:+.1f} %")
    return f"Median page load time of {where}: {listed(parts)}." if parts else ""


def also_differs(stacks: Sequence[Stack], networks: Sequence[Network]) -> str:
    """Return a sentence on what differs between the families besides the addresses."""
    chance = any(network.chance for network in networks)
    unpaired = f"These cells are not paired by block{' and lose other packets' if chance else ''}."
    return " ".join(["Over IPv6", *_what(stacks), unpaired])


def _what(stacks: Sequence[Stack]) -> Iterator[str]:
    yield f"every packet has {_LONGER} bytes more of headers, which count at the line's rate."
    if any(stack.transport == "tcp" for stack in stacks):
        less, more = (ETHERNET_MTU - HEADER_BYTES[f] - TCP_HEADER_BYTES for f in (6, 4))
        yield (
            f"A full TCP segment carries {less} bytes instead of {more}, also in the initial "
            "window."
        )
    own = (s for s in stacks if s.protocol == "h3" and "udp_payload_bytes" not in s.own)
    for payload in sorted({stack.udp_payload_bytes for stack in own}):
        six, four = (payload + UDP_HEADER_BYTES + HEADER_BYTES[f] for f in (6, 4))
        yield (
            f"A QUIC payload of {payload} bytes stays the same, in packets of {six} bytes instead "
            f"of {four}."
        )
