"""Evidence of how names were resolved during a visit."""

import re
from typing import Literal

from msgspec import Struct


class NameLookup(Struct, frozen=True, kw_only=True):
    """A query and its answer, as the resolver logged them."""

    t_us: int
    """When the query reached the resolver."""
    answered_us: int
    """When the resolver answered."""
    name: str
    kind: str
    """The record that was asked for, such as A, AAAA or HTTPS."""
    transport: Literal["udp", "tcp", "doh"]
    missed: bool
    """Whether the resolver had to ask upstream."""
    answers: int
    """Records in the answer; 0 if there are none."""

    @property
    def host(self) -> str:
        """The host that the name is about: ``a.test`` for ``_8443._https.a.test``."""
        return _SERVICE.sub("", self.name)


def service_name(host: str, port: int | None) -> str:
    """Return the name of a host's HTTPS record (RFC 9460 section 9.1). `port` is None for 443."""
    return host if port is None else f"_{port}._https.{host}"


_SERVICE = re.compile(r"^_\d+\._https\.")
