"""Writes certificates to files, for servers other than our own."""

from collections.abc import Mapping

from dragstrip.model.chain import Chain
from dragstrip.testbed.servers.site import ServerSite

Paths = Mapping[str, Mapping[str, str]]
"""Paths of `certificate` (with its intermediates), `key` and `both`, by host. The empty name stands
for one certificate for all hosts."""


class CertificateFiles:
    """Certificate files in the folder of `site`. The folder must exist when they are requested."""

    def __init__(self, site: ServerSite) -> None:
        self._site = site
        self._written: dict[Chain, Paths] = {}

    def like(self, chain: Chain) -> Paths:
        """Return the paths of such chains. Equal chains give the same files, and hosts that share a
        certificate share its files."""
        if chain not in self._written:
            self._written[chain] = self._write(chain, len(self._written))
        return self._written[chain]

    def of(self, host: str, chain: Chain) -> Mapping[str, str]:
        """Return the paths of `certificate` and `key` of a host that is not the page's."""
        paths = {}
        for what, text in self._site.certificate(host, chain).items():
            file = self._site.folder / f"{host}-{what}.pem"
            file.write_text(text)
            paths[what] = str(file)
        return paths

    def _write(self, chain: Chain, before: int) -> Paths:
        folder, hosts = self._site.folder, self._site.certificates(chain)
        tail = f"-{before}" if before else ""
        found: dict[str, dict[str, str]] = {}
        named: dict[str, str] = {}
        for host, pem in hosts.items():
            first = named.setdefault(pem["certificate"], host)
            if first != host:
                found[host] = found[first]
                continue
            stem = f"{host or 'all'}{tail}"
            sent, key, both = (folder / f"{stem}.{end}" for end in ("crt", "key", "pem"))
            sent.write_text(pem["certificate"])
            key.write_text(pem["key"])
            both.write_text(pem["certificate"] + pem["key"])
            found[host] = {"certificate": str(sent), "key": str(key), "both": str(both)}
        return found
