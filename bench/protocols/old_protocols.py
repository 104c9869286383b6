"""Old protocols, proven: what browser, server and wire each say of one visit.

    uv run python bench/protocols/old_protocols.py PAGE... [--out docs/reference] [--keep CAPSULE]

Every page once over SPDY/3.1, gQUIC and the HTTP/1.1 and HTTP/2 of the same browsers, first and
repeat visit, on LTE, with all packets kept. On the wire a TLS 1.2 server names the protocol it
chose (ALPN, RFC 7301) in clear, and a gQUIC client its version in each packet until the server has
answered. Needs `dragstrip legacy install all` and tshark. Writes old-protocols.md.
"""

import argparse
import platform
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from dragstrip.browsers.registry import browser_version
from dragstrip.conduct.visits import make_visits
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.packets import tshark_version
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

STACKS = tuple(
    find_stack(name)
    for name in (
        *("SPDY", "SPDY-netty", "h2-chromium53", "h1-chromium53"),
        *("gQUIC", "gQUIC-chromium78", "h2-chromium70", "h1-chromium70", "h2-chromium78"),
    )
)
ON_THE_WIRE = {"spdy": "spdy/3.1", "h2": "h2", "h1": "http/1.1", "gquic": "Q043"}
SERVER_HELLO = "2"
FIELDS = ("tls.handshake.type", "tls.handshake.extensions_alpn_str", "gquic.version", "udp.stream")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    parser.add_argument("--out", type=Path, default=Path("docs/reference"))
    parser.add_argument("--keep", type=Path, help="the capsule, instead of a temporary one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        capsule = asked.keep or Path(scratch) / "capsule"
        study = StudySpec(
            name="old protocols",
            pages=asked.pages,
            networks=[find_network("LTE")],
            stacks=STACKS,
            connections=("first", "repeat"),
            runs=1,
            seed=1,
            client=Client(pcap=True),
        ).resolve(Path(scratch) / "pages")
        make_visits(study, capsule)
        rows = [row(capsule, study.stack(v.stack), v) for v in last(capsule)]
    text = table(rows)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "old-protocols.md").write_text(text)
    print(text)


def last(capsule: Path) -> list[Visit]:
    """The last attempt at each visit, by page, kind and stack."""
    kept = {(v.page, v.connection, v.stack): v for v in Capsule.open(capsule).visits()}
    names = [stack.name for stack in STACKS]
    return sorted(kept.values(), key=lambda v: (v.page, v.connection, names.index(v.stack)))


def row(capsule: Path, stack: Stack, visit: Visit) -> str:
    seen = Counter(str(r.protocol or "?") for r in visit.requests)
    served = Counter(str(r.protocol) for r in visit.served)
    wire = on_the_wire(capsule / "pcap" / f"{visit.file_name}.pcapng", stack)
    asked = {stack.protocol}, {stack.protocol}, {ON_THE_WIRE[stack.protocol]}
    proven = visit.valid and (set(seen), set(served), set(wire)) == asked
    plt = "-" if visit.plt_ms is None else f"{visit.plt_ms / 1000:.2f} s"
    cells = (
        visit.page,
        visit.connection,
        stack.name,
        counted(seen),
        counted(served),
        counted(wire),
        plt,
        "yes" if proven else "no" if visit.valid else visit.reasons[0].code,
    )
    return f"| {' | '.join(cells)} |"


def counted(found: Counter[str]) -> str:
    return ", ".join(f"{n} {what}" for what, n in found.most_common()) or "none"


def on_the_wire(capture: Path, stack: Stack) -> Counter[str]:
    """Connections by the protocol their handshake names."""
    decode = ["-d", "udp.port==8444,gquic"] if stack.protocol == "gquic" else []
    fields = [word for name in FIELDS for word in ("-e", name)]
    argv = ["tshark", "-r", str(capture), *decode, "-T", "fields", *fields]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return Counter(named(line.split("\t") for line in said.splitlines()))


def named(packets: Iterable[Sequence[str]]) -> list[str]:
    versions: dict[str, str] = {}
    chosen = []
    for kinds, alpn, version, flow in packets:
        if version:
            versions[flow] = version
        if SERVER_HELLO in kinds.split(","):
            chosen.append(alpn or "no ALPN")
    return [*chosen, *versions.values()]


def table(rows: Sequence[str]) -> str:
    browsers = ", ".join(browser_version(b) for b in dict.fromkeys(s.browser for s in STACKS))
    return "\n".join(
        [
            "# Old protocols, proven",
            "",
            f"`uv run python bench/protocols/old_protocols.py PAGE...`: {browsers}, Linux "
            f"{platform.release()}, {tshark_version()}, {date.today().isoformat()}.",
            "Requests by protocol, as the browser and the server's log report them, and "
            "connections by their handshake on the",
            "wire: the ALPN in the TLS 1.2 server hello, or the version in a gQUIC client's "
            f"packets. Chromium 53 calls both SPDY and HTTP/2 {ON_THE_WIRE['spdy']!r},",
            "so there the browser column repeats the server's.",
            "",
            "| page | visit | stack | browser | server | connections on the wire | PLT | proven |",
            "|---" * 8 + "|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    main()
