"""Keeps the loads behind the answers in a table: `loads.parquet` in a paper's folder.

From this table the paper's claims can be answered again without the capsules, which are a hundred
times as large, or together with loads from another machine. The file's metadata says how the loads
were made.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct, field, structs

from dragstrip.model.errors import InputError
from dragstrip.verdict.rules import STANDS_SINCE, VERSION
from dragstrip_papers.answers.ran import Ran, joined
from dragstrip_papers.claims import Published
from dragstrip_papers.evidence import SCHEMA
from dragstrip_papers.measured import CELL, DoubtfulCell, Evidence, Key

FILE = "loads.parquet"
COLUMNS = {
    "study": "Study of the paper.",
    "block": "Id of the block. Loads of one block had the same losses.",
    "page": "Name of the page, with - for /.",
    "network": "Name of the network.",
    "connection": "The browser's state: cold, or after a first load of the page.",
    "stack": "Name of the stack; of one that plays a surrogate's part, the surrogate's.",
    "censored": "Whether the load did not end. What it lacks is then at the client's limit.",
    "standin": "Whether the page stands for one that nobody has.",
    "rate_mbps": "Rate down, in Mbit/s; null without a limit.",
    "rtt_ms": "Round trip, without queues.",
    "loss": "Share of packets lost at random on the way down.",
    "objects": "Objects of the page; pictures alone if it is synthetic.",
    "object_bytes": "Mean size of these.",
    "page_bytes": "Bytes of all bodies; of pictures alone if it is synthetic.",
    "hosts": "Hosts that serve it.",
    "plt_ms": "Page load time: loadEventEnd.",
    "ttfb_ms": "First byte: responseStart of the document.",
    "fcp_ms": "First contentful paint.",
    "visual_fvc_ms": "First visual change.",
    "visual_lvc_ms": "Last visual change.",
    "visual_vc85_ms": "85 % visually complete.",
    "visual_speed_index_ms": "SpeedIndex.",
    "network_plt_ms": "Time with a resource other than a script under way.",
    "connect_to_request_ms": "From the first packet of the document's connection to its request.",
    "object_sent_ms": "Median object, from request sent to last byte.",
    "object_sent_max_ms": "Slowest object, from request sent to last byte.",
    "object_queued_p90_ms": "90th percentile of objects, queueing in the browser included.",
}
"""Columns of the table, as in `dragstrip_papers.evidence.SCHEMA`, and what each column means."""
_HEAD = "dragstrip"
"""Key of the file's metadata."""


class _Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's metadata."""

    paper: str
    rules: int
    """Version of the verdict's rules, by which the visits were judged."""
    cast: dict[str, str]
    """If the paper's own protocols were run, the stack that plays each surrogate; otherwise
    empty."""
    ran: Ran
    doubts: tuple[tuple[Key, DoubtfulCell], ...] = field(name="struck")


class Kept(Struct, frozen=True):
    """The content of a file."""

    file: Path
    evidence: Evidence
    ran: Ran
    paper: str
    cast: dict[str, str]


def keep(file: Path, paper: Published, ran: Ran, evidence: Evidence) -> None:
    """Write all loads to a file. Other people's captures that were audited are left out."""
    head = _Head(
        paper=paper.key,
        rules=VERSION,
        cast=paper.cast,
        ran=ran,
        doubts=tuple(evidence.doubts.items()),
    )
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".loads-") as folder:
        draft = Path(folder) / file.name
        said = msgspec.json.encode(head).decode()
        evidence.loads.write_parquet(draft, metadata={_HEAD: said}, compression_level=19)
        draft.replace(file)


def read(file: Path) -> Kept:
    """Read a table of loads. Raises `InputError` for another kind of file, and for a table that
    older rules judged."""
    try:
        said = pl.read_parquet_metadata(file).get(_HEAD, "")
        loads = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    if not said or dict(loads.schema) != SCHEMA:
        raise InputError(f"{file} is no {FILE} of a folder that `dragstrip reproduce` made")
    try:
        head = msgspec.json.decode(said, type=_Head)
    except msgspec.ValidationError:
        raise InputError(f"{file}: another version of dragstrip made it; make it anew") from None
    if not STANDS_SINCE <= head.rules <= VERSION:
        raise InputError(
            f"{file}: rules {head.rules} of the verdict judged its visits, and today's are rules "
            f"{VERSION}: make it anew from its capsules, with `dragstrip reproduce {head.paper} "
            "--minutes 0 --out FOLDER`"
        )
    name = f"{file.resolve().parent.name}/{file.name}"  # most tables have the same file name
    made = tuple(structs.replace(m, elsewhere=m.elsewhere or name) for m in head.ran.made)
    return Kept(
        file=file,
        evidence=Evidence(loads, doubts=dict(head.doubts)),
        ran=structs.replace(head.ran, made=made),
        paper=head.paper,
        cast=head.cast,
    )


def together(
    paper: Published, ran: Ran, evidence: Evidence, others: Sequence[Kept]
) -> tuple[Ran, Evidence]:
    """Join our own loads with tables that others kept. Raises `InputError` for loads of another
    paper, clock, client or other protocols. Raises it too for a cell that is in two of them,
    because its loads were not made in one sequence of blocks."""
    seen: list[tuple[str, Ran, Evidence]] = [("this folder", ran, evidence)] if ran.made else []
    for other in others:
        if other.paper != paper.key:
            raise InputError(f"{other.file}: its loads are of {other.paper}, not of {paper.key}")
        if other.cast != paper.cast:
            own, option = ("today's", "leave out") if paper.cast else ("its own", "add")
            raise InputError(f"{other.file}: its loads are over {own} protocols; {option} --native")
        for name, there, theirs in seen:
            for what, mine, its in (
                ("client", there.client, other.ran.client),
                ("clock", there.clock.short, other.ran.clock.short),
            ):
                if mine != its:
                    raise InputError(f"{other.file}: its {what} is {its}, that of {name} is {mine}")
            if both := _cells(theirs) & _cells(other.evidence):
                study, page, network, connection = min(both)
                raise InputError(
                    f"{other.file} and {name} both have {page} over {network} ({study}, "
                    f"{connection} visits): leave out one"
                )
        seen.append((str(other.file), other.ran, other.evidence))
    return joined([r for _, r, _ in seen]), structs.replace(
        evidence,
        loads=pl.concat([evidence.loads, *(other.evidence.loads for other in others)]),
        doubts={**evidence.doubts, **{k: s for o in others for k, s in o.evidence.doubts.items()}},
    )


def _cells(evidence: Evidence) -> set[Key]:
    return set(evidence.loads.select(CELL).unique().iter_rows())
