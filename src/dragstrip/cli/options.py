"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path | None, typer.Option(help="Result folder; an existing one resumes.")]
Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--no-calibrate",
        help="Measure each link before its first visit; by default once per capsule.",
    ),
]
Jobs = Annotated[
    str | None,
    typer.Option(
        help="Blocks that may run at once: a number, or auto. By default 1; in virtual time one a "
        "core."
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        help="Only this share of the blocks, like 3/16; `dragstrip merge` joins the shares."
    ),
]
Virtual = Annotated[
    bool,
    typer.Option(
        "--virtual",
        help="Race in virtual time: exact on any machine, computing takes no time.",
    ),
]
ByClient = Annotated[
    str | None,
    typer.Option(
        "--client",
        help="'loader' loads pages with the load generator, which predicts Chromium, instead of a "
        "browser. See docs/howto/load-generator.md.",
        metavar="browser|loader",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
