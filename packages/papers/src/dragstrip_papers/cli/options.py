"""Declares the options of `dragstrip reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip_papers.cli.names import (
    paper_claims,
    paper_keys,
    paper_networks,
    paper_pages,
    paper_stacks,
    paper_studies,
)

Key = Annotated[
    str,
    typer.Argument(
        help="A name from `dragstrip list papers`.", metavar="KEY", autocompletion=paper_keys
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        help="smoke: the cells that fit into --minutes; paper: all cells; a share like 0.1: "
        "all cells, with fewer runs.",
        metavar="smoke|paper|F",
    ),
]
SlowRuns = Annotated[
    int | None,
    typer.Option(
        help="Runs per slow cell (median load at least 10 s). Default: same as others.",
        min=1,
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        help="Time for visits, in minutes; 0 only answers the claims. Default: 10 at scale "
        "smoke, no limit otherwise.",
        min=0,
    ),
]
StudyNames = Annotated[
    list[str] | None,
    typer.Option(
        help="Run only these of the paper's studies, by name (default: all).",
        metavar="NAME",
        autocompletion=paper_studies,
    ),
]
ClaimNames = Annotated[
    list[str] | None,
    typer.Option(
        help="Run only the cells and stacks that these claims look at, such as 03 (default: "
        "those of all claims).",
        metavar="ID",
        autocompletion=paper_claims,
    ),
]
StackNames = Annotated[
    list[str] | None,
    typer.Option(
        help="Race only these of the studies' stacks (default: those that the claims look at).",
        metavar="STACK",
        autocompletion=paper_stacks,
    ),
]
NetworkNames = Annotated[
    list[str] | None,
    typer.Option(
        help="Race only over these of the studies' networks, such as LTE (default: those that "
        "the claims look at).",
        metavar="NETWORK",
        autocompletion=paper_networks,
    ),
]
PageNames = Annotated[
    list[str] | None,
    typer.Option(
        help="Visit these pages instead, such as your own recordings of the sites (default: "
        "the pages of the paper's studies).",
        metavar="PAGE",
        autocompletion=paper_pages,
    ),
]
Recordings = Annotated[
    list[Path] | None,
    typer.Option(
        help="Folder with recordings of the paper's sites, like wikipedia.warc.gz. They replace "
        "the stand-ins of these sites. Repeatable (default: none).",
        metavar="FOLDER",
    ),
]
Patience = Annotated[
    int | None,
    typer.Option(
        help="Let QUIC's clients wait this many seconds for a handshake, and on an idle "
        "connection, as TCP's wait for minutes (default: the browser's own 4 and 30).",
        metavar="SECONDS",
    ),
]
ControlsEvery = Annotated[
    int,
    typer.Option(
        help="Visit the controls in each Nth block of a cell only, beginning with the first.",
        metavar="N",
        min=1,
    ),
]
Native = Annotated[
    bool,
    typer.Option(
        "--native",
        help="Run the paper's own protocols, SPDY and Google QUIC, in the old browsers that "
        "are installed (docs/howto/legacy.md).",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Result folder; an existing one resumes. Default: capsules/KEY, plus -native, "
        "-virtual, -computing or -loader with these options."
    ),
]
OtherLoads = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        help="Answer with these loads as well: loads.parquet of other result folders, such as "
        "another machine's.",
        metavar="FILE",
    ),
]
FromLoads = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="Answer from the tables of loads in this folder alone, such as docs/results/loads. "
        "KEY is then optional, nothing is run, and --out gets the answers as papers.json.",
        metavar="FOLDER",
    ),
]
Captures = Annotated[
    Path | None, typer.Option(help="Folder of published captures to audit (default: none).")
]
