"""A bar of text, for terminal and Markdown."""

from dragstrip.report.data.lead_bars import LeadBar

WIDTH = 26
"""Characters of the longest bar."""
_SOLID, _MORE, _UNSHOWN = "█", "▒", "·"
"""Signs for the leader's time, for what a slower stack takes longer, and for a difference that is
not shown."""


def drawing(bar: LeadBar) -> str:
    """Draw the bar in text."""
    solid, end = round(bar.solid * WIDTH), round(bar.end * WIDTH)
    more = _MORE if bar.effect is None or bar.effect.shown else _UNSHOWN
    return (_SOLID * solid + more * (end - solid)).ljust(WIDTH)
