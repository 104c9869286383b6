"""Lists the requests that each connection of a visit carried."""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.family import address_in
from dragstrip.model.visit import Connection, Served, Visit


class ConnectionLoad(Struct, frozen=True):
    """A connection in the server's log, and the requests that it carried."""

    connection: Connection
    address: str
    """Address at which the server accepted the connection; empty if unknown."""
    requests: Sequence[Served]

    @property
    def others(self) -> tuple[str, ...]:
        """Hosts of the connection's requests, without the one for which it was opened."""
        hosts = dict.fromkeys(s.host for s in self.requests)
        return tuple(host for host in hosts if host != self.connection.host)


def carried(visit: Visit) -> list[ConnectionLoad]:
    """List all connections in the server's order, including those without requests."""
    by_id: dict[int, list[Served]] = {}
    for served in visit.served:
        by_id.setdefault(served.connection, []).append(served)
    return [ConnectionLoad(c, address_of(visit, c), by_id.get(c.id, ())) for c in visit.connections]


def address_of(visit: Visit, connection: Connection) -> str:
    """Return the address at which the server accepted the connection, if it reports one; otherwise
    the address of the connection's host; empty if neither is known."""
    return connection.address or address_in(visit.addresses.get(connection.host or "", ""))


def coalesced(visit: Visit) -> list[Served]:
    """List the requests that were carried by a connection opened for another host."""
    opened = {c.id: c.host for c in visit.connections if c.host and c.secure}
    return [s for s in visit.served if opened.get(s.connection, s.host) != s.host]
