"""The text of docs/results/tfo.md."""

OPENING = """# TCP with every round trip it can save

wolsing2019 (section 5) asks what TCP would do with TLS 1.3 early data. TCP Fast Open (RFC 7413) is
the other round trip it could save. No browser supports it any more, so the
[load generator](../howto/load-generator.md) answers, in virtual time: these are predictions
([how far off](../reference/loader.md)). The paper's four networks, two pages, first and repeat
visits.

- `TCP+`: tuned TCP. `TCP+early`: with early data. `TFO`: with Fast Open. `TFO+early`: with both.
- `QUIC`: wolsing2019's, with 0-RTT.
- `-small`: without X25519MLKEM768. Chromium's ClientHello of about 1.7 kB is longer than a SYN may
  be, so Fast Open sends only its beginning. The small one of about 600 bytes fits, with the first
  request behind it.

![First byte of repeat visits](tfo.svg)

First byte of a repeat visit in round trips, where nothing is lost (medians):
"""
ANSWER = """**With the ClientHello that browsers send today, Fast Open saves nothing.** The server
needs all of it, and its end comes a round trip after the SYN, as without Fast Open. Early data
saves its round trip either way.

**With a ClientHello that fits into the SYN, TCP with Fast Open and early data answers as soon as
QUIC with 0-RTT**, within about a tenth of a round trip. Page load times follow where no packet is
lost: on repeat visits QUIC's are 0.96 to 1.07 of that TCP's (`dragstrip compare tfo --pair
TFO+early-small:QUIC`). Over DA2GC QUIC loads wikipedia.org in 0.64 of its time (0.60 to 0.93). For
the demo page, and over MSS, seven blocks do not tell them apart.

**Where a middlebox drops SYNs with data, Fast Open costs a second for each host in turn**, more
than it ever saves. QUIC is not touched by such a middlebox.

## How it was made
"""
TIMES = """## How long it takes

First visits, page load time in s (medians). Nothing can be saved there: Fast Open asks for its
cookie, and there is no ticket to resume.
"""
PROOF = """## Was it Fast Open?

By `TCP_INFO` of the client's sockets, all connections of all valid visits. Data is acknowledged
(`TCPI_OPT_SYN_DATA`) only if the server took it with the SYN. Later connections to a host of a
first visit may have a cookie already. A visit with Fast Open in another state than its stack asks
for is invalid, and so is one whose early data did not come early.
"""
MIDDLEBOX = """## Where a middlebox drops SYNs with data

The same networks. A middlebox at the client's end drops every SYN that carries data and says
nothing (`drops_syn_data`, [network](../reference/network.md)). The plain SYN that fetches the
cookie passes, so a client expects no trouble. Linux sends the SYN again without data after its
first timeout of one second. Hosts that are discovered one after the other pay that one after the
other. Whatever Linux may remember of it plays no part: each pair of visits begins without cookies
and metrics. Page load time and first byte, s, repeat visits:
"""
CLOSING = """The commands:

    dragstrip run docs/results/tfo.toml --out tfo
    dragstrip run docs/results/tfo-middlebox.toml --out tfo-middlebox
    uv run python packages/papers/bench/tfo.py tfo tfo-middlebox"""
