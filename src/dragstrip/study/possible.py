"""Combinations that cannot be had, refused before the first visit."""

from collections.abc import Collection, Sequence

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.study.clients import check_clients


def check(
    networks: Sequence[Network],
    stacks: Sequence[Stack],
    client: Client,
    *,
    hosts: Collection[str],
    live: bool,
) -> None:
    """Raises `InputError` for what no visit could be. `hosts` are those of all pages."""
    if live:
        _check_live(networks, stacks)
    check_clients(stacks)
    for stack in stacks:
        if client.frames and not stack.loaded_by.frames:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what} records no frames, so it would race "
                "without their cost: turn frames off, or race other stacks"
            )
    for network in networks:
        for host in (p.host for p in (*network.down.hosts, *network.up.hosts)):
            if host not in hosts:
                raise InputError(f"network {network.name!r} names {host}, which no page here has")


def _check_live(networks: Sequence[Network], stacks: Sequence[Stack]) -> None:
    if len({s.protocol for s in stacks}) < len(stacks):
        raise InputError(
            "on a live page stacks may differ only in protocol: the server is the site's"
        )
    if any(network.background for network in networks):
        raise InputError("background load needs our origin: a live page has none")
    for stack in stacks:
        if stack.server != OURS:
            raise InputError(
                f"stack {stack.name!r} asks for server {stack.server}: on a live page the server "
                "is the site's"
            )
        if stack.loaded_by.testbeds_only:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what} can reach only the hosts of "
                "recorded pages"
            )
