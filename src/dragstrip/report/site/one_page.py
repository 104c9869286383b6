"""A study's answer as one page of A4."""

from dragstrip.model.study import Study
from dragstrip.report.data.one_page import ROWS, OnePage
from dragstrip.report.figures import palette
from dragstrip.report.figures.matrix import shares_of
from dragstrip.report.site.templating import environment
from dragstrip.report.words import effect as effect_words
from dragstrip.report.words import numbers as words


def html(study: Study, page: OnePage) -> str:
    """Render the page as HTML that needs nothing else."""
    made = environment(
        palette=palette,
        coded=words.coded,
        counted=words.counted,
        led=words.led,
        bar_length=effect_words.length,
        bar_told=effect_words.told,
        bar_notes=effect_words.notes,
        effect_meanings=effect_words.MEANINGS,
    )
    return made.get_template("one_page.html.j2").render(
        page=page, shares=shares_of(study, [one.lead for one in page.cells]), most=ROWS
    )
