"""Pages whose hosts share addresses, and visits to them."""

from collections.abc import Mapping

from msgspec import structs

import made
from dragstrip.model.page import Page, digest_of
from dragstrip.model.visit import Connection, Request, Served, Visit


def page_of(
    addresses: Mapping[str, str], certificates: Mapping[str, tuple[str, ...]] | None = None
) -> Page:
    """One object on each of these hosts, recorded at these addresses."""
    resource = made.PAGE.resources[0]
    urls = [f"https://{host}/" for host in addresses]
    return structs.replace(
        made.PAGE,
        url=urls[0],
        resources=tuple(
            structs.replace(resource, url=url, digest=digest_of(url.encode())) for url in urls
        ),
        addresses={host: ip for host, ip in addresses.items() if ip},
        certificates=certificates or {},
    )


def visit(
    addresses: Mapping[str, str], over: Mapping[str, str], protocol: made.Protocol = "h2"
) -> Visit:
    """A visit of a page of these hosts, each at its address of the testbed. `over` names the host
    to which the connection was opened that carried each host's request."""
    opened = {owner: number for number, owner in enumerate(dict.fromkeys(over.values()), start=1)}
    good = made.visit(protocol)

    def request(host: str) -> Request:
        asked = made.request(f"https://{host}/", protocol, 0.0)
        where = {"remote_ip": addresses[over[host]], "connection": opened[over[host]]}
        return structs.replace(asked, host=host, **where)

    def served(host: str) -> Served:
        return made.served(f"https://{host}/", protocol, host=host, connection=opened[over[host]])

    def connection(owner: str, number: int) -> Connection:
        like = {"id": number, "host": owner, "address": addresses[owner]}
        return structs.replace(good.connections[0], **like)

    return structs.replace(
        good,
        addresses={host: f"{ip}:443" for host, ip in addresses.items()},
        requests=tuple(request(host) for host in over),
        served=tuple(served(host) for host in over),
        connections=tuple(connection(*one) for one in opened.items()),
        rehearsed=tuple(range(len(over))),
    )
