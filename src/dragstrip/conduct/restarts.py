"""Spreads a study's blocks over several starts of testbed and browsers."""

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.study.clients import AnyStudy


def spread(study: AnyStudy, restarts: int | None) -> AnyStudy:
    """Return the study with this number of restarts, or with its own number if `restarts` is None.
    Raises `InputError`."""
    if restarts is None:
        return study
    if restarts > study.runs:
        raise InputError(f"--restarts {restarts}: {study.runs} runs need no more than {study.runs}")
    return structs.replace(study, restarts=restarts)
