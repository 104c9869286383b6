"""Writes the claims page: a paper's claims with our answers, its figures, and what was run.

These files go into one folder: `claims.html`, `claims.json`, `claims.md`, and `figures/` with every
figure as SVG, PNG, CSV and Vega-Lite.
"""

import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import msgspec
import polars as pl
import vl_convert
from markupsafe import Markup

from dragstrip.pages import corpus
from dragstrip.report import vega
from dragstrip.report.data.cells import cell_title, page_file
from dragstrip.report.data.controls import judgement
from dragstrip.report.figures import palette
from dragstrip.report.site.templating import environment
from dragstrip.report.words import numbers as words
from dragstrip_papers.answers.findings import VERDICTS, Finding, Findings, Place
from dragstrip_papers.report.style import Figure
from dragstrip_papers.sites import chosen

_HEADS = (
    "claim",
    "section",
    "tier",
    "says",
    "published",
    "ours",
    "answer",
    "direction",
    "size",
    "how near",
)
TINT = {
    "reproduced": "#12735f",
    "equivalent": "#33479e",
    "contradicted": palette.ALARM,
    "not testable": "#5c626e",
    "derived": "#5c626e",
    "open": "#8a5a00",
}


def write(folder: Path, found: Findings, figures: Sequence[Figure]) -> Path:
    """Write the page with its files; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "claims.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    )
    (folder / "claims.md").write_text(markdown(found), encoding="utf-8")
    _export(folder / "figures", figures)
    target = folder / "claims.html"
    target.write_text(page(found, figures), encoding="utf-8")
    return target


def page(found: Findings, figures: Sequence[Figure]) -> str:
    made = environment(Path(__file__).with_name("templates"))
    seen, unrun = by_run(found)
    made.globals.update(
        counted=words.counted,
        summary=summary,
        nothing_run=nothing_run,
        percent=words.percent,
        palette=palette,
        tint=TINT,
        link=link,
        cell=cell,
        beside=beside,
        place=place,
        judgement=judgement,
        chosen=chosen,
        label=corpus.label,
    )
    return made.get_template("claims.html.j2").render(
        found=found,
        seen=seen,
        unrun=unrun,
        figures=figures,
        verdicts=VERDICTS,
        stacks=stacks,
        left_out=_grouped(found.left_out),
        vega=Markup(vega.script()),
    )


def summary(found: Findings) -> str:
    """Summarise the answers: ``Of 12 claims, 1 shows no difference where one was claimed and 11 are
    open.``"""
    v = found.verdicts
    told = [
        f"{n} {one if n == 1 else more} {rest}"
        for n, one, more, rest in (
            (v["reproduced"], "is", "are", "reproduced"),
            (v["equivalent"], "shows", "show", "no difference where one was claimed"),
            (v["contradicted"], "is", "are", "contradicted"),
            (v["open"], "is", "are", "open"),
            (v["not testable"], "cannot", "cannot", "be tested here"),
            (v["derived"], "follows", "follow", "from arithmetic or from our setup"),
            (found.restated, "restates", "restate", "another"),
        )
        if n
    ]
    return f"Of {words.counted(len(found.claims), 'claim')}, {words.listed(told)}."


def nothing_run(unrun: Sequence[Finding]) -> str:
    """Return the text above the claims of which nothing was run."""
    stay = "stays" if len(unrun) == 1 else "stay"
    return f"Nothing was run here of {words.counted(len(unrun), 'claim')}, which {stay} open"


def by_run(found: Findings) -> tuple[list[Finding], list[Finding]]:
    """Split the claims into those of which something was run, and the others."""
    unrun = [claim for claim in found.claims if claim.unrun]
    return [claim for claim in found.claims if not claim.unrun], unrun


def cell(place: Place) -> str:
    """Name a cell: ``etsy.com over LTE``, for repeat visits with their mode."""
    return cell_title(place.page, place.network, place.connection)


def link(place: Place) -> str:
    """Return the link from the claims page to the cell in its capsule's report."""
    file = page_file(place.number, cell(place))
    return quote(f"{place.study}/report/{file}")


def stacks(claim: Finding) -> str:
    """``surrogate: QUIC for gQUIC 23`` or ``own``; what no stack was needed for says so."""
    if claim.players:
        return "own: " + "; ".join(f"{own} as {part}" for part, own in claim.players.items())
    if not claim.surrogates:
        return "own" if claim.behind else "none needed"
    return "surrogate: " + "; ".join(f"{ours} for {of}" for ours, of in claim.surrogates.items())


def place(claim: Finding) -> str:
    """Say where the claim stands: in a section of the paper, or of one of its sources, with how
    that source was read."""
    if not claim.source:
        return claim.section
    unread = f" ({claim.read})" if claim.read in ("abstract", "second-hand") else ""
    return f"{claim.source}{unread}, {claim.section}"


def beside(claim: Finding) -> list[str]:
    """Return the notes beside the claim's answer."""
    again = [f"restates {claim.restates}, and is not counted again"] if claim.restates else []
    needs = [f"needs {claim.more.words()}"] if claim.more else []
    return [*again, *filter(None, [claim.why]), *needs, *claim.caveats]


def behind(paper: str, loads: str) -> str:
    """Return the sentences that lead from a page to its table of loads."""
    file = Path(loads)
    return (
        f"Every load behind these answers: [{file.name}]({loads}). Answer again from all kept "
        f"loads: `dragstrip reproduce {paper} --from docs/results/{file.parent.name}`."
    )


def anchored(claim: str) -> str:
    """Return a claim's name with its anchor, so that a link can open its row of a page."""
    return f'<a id="{claim}"></a>{claim}'


def markdown(found: Findings, loads: str = "") -> str:
    """Write the claims page as Markdown: a table of all claims of which something was run.

    `loads` is the path from the page to the table of loads that it rests on, or empty.
    """
    seen, unrun = by_run(found)
    lines = [
        f"# {found.title}",
        "",
        f"{found.authors}, {found.venue}. {found.cells_run} of {found.cells_total} cells run; "
        + ", ".join(f"{n} {verdict}" for verdict, n in found.verdicts.items())
        + f"; {found.restated} restate another claim. {found.frozen.words()}".rstrip(),
        "",
        *([found.predicted, ""] if found.predicted else []),
        *([chosen(found.chosen), ""] if found.chosen else []),
        *([behind(found.paper, loads), ""] if loads else []),
    ]
    if seen:
        lines.append(f"| {' | '.join(_HEADS)} |")
        lines.append("|---" * len(_HEADS) + "|")
    notes = found.servers
    for c in seen:
        answer = f"**{c.verdict}**" + "".join(f"; {said}" for said in beside(c))
        published = " ".join(filter(None, (c.published, c.tolerance)))
        ours = c.ours or words.DASH
        if c.servers:
            ours += f" (servers: {notes[c.servers]})"
        near = c.near.words() or words.DASH
        near += f", [loads]({loads})" if loads and c.behind else ""
        apart = (c.direction or words.DASH, c.size or words.DASH)
        cells = (anchored(c.id), place(c), c.tier, c.says, published, ours, answer, *apart, near)
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |")
    if unrun:
        names = [claim.id.removeprefix(f"{found.paper}-") for claim in unrun]
        lines += ["", f"{nothing_run(unrun)}:", f"{words.listed(names)}."]
    if notes:
        lines += ["", "What serves the stacks of a claim:", ""]
        lines += [f"- {number}: {said}" for said, number in notes.items()]
    lines += ["", "What was run:", ""]
    for made in found.made:
        reasons = ", ".join(f"{code} {n}" for code, n in made.reasons.items()) or "none"
        source = f", from {made.elsewhere}" if made.elsewhere else ""
        lines.append(
            f"- {made.study}{source}: {made.visits} visits, {made.invalid} invalid ({reasons}). "
            f"{made.bias}".rstrip()
        )
        lines += [f"  - `{said}`" for said in made.commands]
        lines += [f"  - made by {said}" for said in made.how]
        lines += [f"  - {said}" for said in judgement(made.controls, None)]
        lines += [] if made.controls else ["  - no controls were visited, so the noise is unknown"]
    lines += [] if found.made else ["- nothing"]
    if found.sources:
        lines += ["", "Sources:", ""]
        lines += [f"- {source.id}: {source.words()}" for source in found.sources]
    lines += ["", "What the paper leaves open, and our choice:", ""]
    lines += [f"- {choice}" for choice in found.choices]
    lines += ["", "Stacks:", ""]
    lines += [f"- {ours} stands for {of}" for ours, of in found.surrogates.items()]
    lines += [f"- {own} plays {part}: the paper's own protocol" for part, own in found.cast.items()]
    return "\n".join([*lines, ""])


def _grouped(left_out: Sequence[Place]) -> list[tuple[str, str, list[Place]]]:
    """Group cells by study and network, in their order."""

    def key(place: Place) -> tuple[str, str]:
        return place.study, place.network

    ordered = sorted(left_out, key=key)
    return [(study, network, list(places)) for (study, network), places in groupby(ordered, key)]


def _export(folder: Path, figures: Sequence[Figure]) -> None:
    folder.mkdir(exist_ok=True)
    for drawn in figures:
        spec = msgspec.json.encode(drawn.spec).decode()
        (folder / f"{drawn.name}.vl.json").write_text(spec, encoding="utf-8")
        svg = vl_convert.vegalite_to_svg(spec)
        (folder / f"{drawn.name}.svg").write_text(svg, encoding="utf-8")
        (folder / f"{drawn.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
        (folder / f"{drawn.name}.csv").write_text(csv(drawn), encoding="utf-8")


def csv(drawn: Figure) -> str:
    """Write the rows behind a figure as CSV."""
    text = io.StringIO()
    pl.DataFrame(drawn.rows, infer_schema_length=None).write_csv(text)
    return text.getvalue()
