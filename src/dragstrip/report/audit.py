"""The audit as one HTML page that needs neither network nor script."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dragstrip.audit.judge import Row, Summary
from dragstrip.report import audit_figures, palette, words
from dragstrip.report.audit_words import sentences

_TEMPLATES = Path(__file__).with_name("templates")


def page(title: str, summary: Summary, rows: Sequence[Row]) -> str:
    """The page's HTML. Everything in it that comes from captures is escaped."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("audit.html.j2").render(
        title=title,
        summary=summary,
        sentences=sentences(summary),
        rows=rows,
        bounds=audit_figures.bounds(rows),
        shares=audit_figures.shares(rows),
        connects=audit_figures.connects(rows),
        palette=palette,
        duration=words.duration,
        size=words.size,
        counted=words.counted,
    )
