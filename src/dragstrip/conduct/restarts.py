"""A study whose blocks are spread over several starts of testbed and browsers."""

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.study import Study


def spread(study: Study, restarts: int | None) -> Study:
    """The study with this number of restarts; its own number stays if none is given. Raises
    `InputError`."""
    if restarts is None:
        return study
    if restarts > study.runs:
        raise InputError(f"--restarts {restarts}: {study.runs} runs need no more than {study.runs}")
    return structs.replace(study, restarts=restarts)
