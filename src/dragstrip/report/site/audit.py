"""Writes the audit as one HTML page, which needs no network."""

from collections.abc import Sequence

from markupsafe import Markup

from dragstrip.audit.judge import AuditRow, AuditSummary
from dragstrip.report import vega
from dragstrip.report.figures import audit as audit_figures
from dragstrip.report.figures import palette
from dragstrip.report.site.templating import environment
from dragstrip.report.words import numbers as words
from dragstrip.report.words.audit import sentences


def page(title: str, summary: AuditSummary, rows: Sequence[AuditRow]) -> str:
    """Return the page's HTML. Everything that comes from captures is escaped."""
    made = environment()
    return made.get_template("audit.html.j2").render(
        title=title,
        summary=summary,
        sentences=sentences(summary),
        rows=rows,
        bounds=audit_figures.bounds(rows),
        shares=audit_figures.shares(rows),
        connects=audit_figures.connects(rows),
        vega=Markup(vega.script()),
        palette=palette,
        duration=words.duration,
        size=words.size,
        counted=words.counted,
    )
