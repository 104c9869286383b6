"""Spreads a study's blocks over several starts of testbed and browsers."""

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.study import Study


def spread(study: Study, restarts: int | None) -> Study:
    """Return the study with this number of restarts, or with its own number if `restarts` is None.
    Raises `InputError`."""
    if restarts is None:
        return study
    if restarts > study.runs:
        raise InputError(f"--restarts {restarts}: {study.runs} runs need no more than {study.runs}")
    return structs.replace(study, restarts=restarts)
