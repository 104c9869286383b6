"""The text of docs/results/tfo.md."""

OPENING = """# TCP with every round trip it can save

wolsing2019 (section 5) asks what TCP would do with TLS 1.3 early data, and names TCP Fast Open (RFC
7413) as what is left to save besides. No browser has Fast Open any more, so the
[load generator](../howto/load-generator.md) answers, in virtual time: these are predictions
([how far off](../reference/loader.md)). The paper's four networks, two pages, first and repeat visits.

- `TCP+`: tuned TCP. `TCP+early`: with early data. `TFO`: with Fast Open. `TFO+early`: with both.
- `QUIC`: wolsing2019's, with 0-RTT.
- `-small`: without X25519MLKEM768. Chromium's ClientHello of about 1.7 kB is longer than a SYN may
  be, so Fast Open sends only its beginning; the small one of about 600 bytes fits with the first
  request behind it.

![First byte of repeat visits](tfo.svg)
"""
TIMES = """## How long it takes

First visits, page load time in s (medians). Nothing can be saved there: Fast Open asks for its
cookie, and there is no ticket to resume.
"""
PROOF = """## Was it Fast Open?

By `TCP_INFO` of the client's sockets, all connections of all valid visits. Data is acknowledged
(`TCPI_OPT_SYN_DATA`) only if the server took it with the SYN. Later connections to a host of a first
visit may have a cookie already.
"""
MIDDLEBOX = """## Where a middlebox drops SYNs with data

The same networks; a middlebox at the client's end drops every SYN that carries data and says nothing
(`drops_syn_data`, [network](../reference/network.md)). The cookie, which a plain SYN fetches, passes:
so a client has no reason to expect it. Linux sends the SYN again without data after its first
timeout of one second. Each host's first connections pay that, one after the other where hosts are
discovered one after the other. Kernels of Linux remember nothing of it here, since each visit begins
without their metrics. Page load time and first byte, s, repeat visits:
"""
RATIOS = """## Ratios
"""
CLOSING = """The commands:

    dragstrip run docs/results/tfo.toml --out tfo
    dragstrip run docs/results/tfo-middlebox.toml --out tfo-middlebox
    uv run python bench/tfo.py tfo tfo-middlebox"""
