"""Writes certificates to files, for servers other than our own."""

from collections.abc import Mapping

from dragstrip.testbed.servers.site import ServerSite

Paths = Mapping[str, Mapping[str, str]]
"""Paths of `certificate` (with its intermediate), `key` and `both`, by host. The empty name stands
for one certificate for all hosts."""


class CertificateFiles:
    """Certificate files in the folder of `site`. The folder must exist when they are requested."""

    def __init__(self, site: ServerSite) -> None:
        self._site = site
        self._written: dict[int | None, Paths] = {}

    def of_size(self, least_bytes: int | None) -> Paths:
        """Return the paths of chains of the size `Stack.certificate_bytes`. Equal sizes give the
        same files, and hosts that share a certificate share its files."""
        if least_bytes not in self._written:
            self._written[least_bytes] = self._write(least_bytes)
        return self._written[least_bytes]

    def _write(self, least_bytes: int | None) -> Paths:
        folder, hosts = self._site.folder, self._site.certificates(least_bytes)
        tail = f"-{least_bytes}" if least_bytes else ""
        found: dict[str, dict[str, str]] = {}
        named: dict[str, str] = {}
        for host, pem in hosts.items():
            first = named.setdefault(pem["certificate"], host)
            if first != host:
                found[host] = found[first]
                continue
            stem = f"{host or 'all'}{tail}"
            chain, key, both = (folder / f"{stem}.{end}" for end in ("crt", "key", "pem"))
            chain.write_text(pem["certificate"])
            key.write_text(pem["key"])
            both.write_text(pem["certificate"] + pem["key"])
            found[host] = {"certificate": str(chain), "key": str(key), "both": str(both)}
        return found
