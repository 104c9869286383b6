"""One badge per server and discipline, in the format of shields.io's endpoint."""

from typing import Any

from dragstrip.league.result import LeagueResult
from dragstrip.league.standings import Standing

_COLOURS = {"first": "brightgreen", "middle": "blue", "last": "orange", "none": "lightgrey"}


def badges(found: LeagueResult) -> dict[str, dict[str, dict[str, Any]]]:
    """Return badges by server and discipline."""
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for one in found.disciplines:
        for standing in one.standings:
            made.setdefault(standing.name, {})[one.name] = {
                "schemaVersion": 1,
                "label": f"{found.family} {one.title.lower()}",
                "message": _message(standing, len(one.standings)),
                "color": _COLOURS[_place(standing, len(one.standings))],
            }
    return made


def _message(standing: Standing, entries: int) -> str:
    return "no rank" if standing.best is None else f"rank {standing.rank} of {entries}"


def _place(standing: Standing, entries: int) -> str:
    if standing.best is None:
        return "none"
    if standing.best == 1:
        return "first"
    return "last" if standing.best == entries else "middle"
