"""dragstrip races web protocol stacks; see README.md and docs/.

>>> import dragstrip
>>> first = dragstrip.race(["demo"], networks=["LTE"], stacks=["h2", "h3"], out="capsules/first")
>>> visits = first.visits()   # a Polars frame
>>> visits = dragstrip.open("capsules/first").visits()   # the same, another day
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragstrip.model.addresses import Addresses
    from dragstrip.model.study import Study
    from dragstrip.results.frames import Frames
    from dragstrip.version import __version__

__all__ = ["__version__", "open", "race", "run"]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from dragstrip.version import __version__  # reads the metadata of all packages

        return __version__
    raise AttributeError(f"module 'dragstrip' has no attribute {name!r}")


def race(
    pages: Sequence[str | Path],
    *,
    networks: Sequence[str],
    stacks: Sequence[str],
    out: str | Path,
    runs: int = 5,
    seed: int = 0,
    repeat: bool = False,
    restarts: int = 1,
    addresses: "Addresses" = "recorded",
    virtual: bool = False,
    computing: bool | None = None,
    device: str | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
) -> "Frames":
    """Race stacks as `dragstrip race` does, into the folder `out`, and return its tables.

    If the folder holds the same race already, the race is continued. Raises
    `dragstrip.model.errors.InputError` for bad input, and `dragstrip.testbed.errors.TestbedError`
    if the testbed cannot run here.
    """
    from dragstrip.model.study import Client
    from dragstrip.study.presets import find_network, find_stack
    from dragstrip.study.spec import StudySpec
    from dragstrip.testbed.cache import cache_folder

    study = StudySpec(
        name="race",
        pages=[str(page) for page in pages],
        networks=[find_network(name) for name in networks],
        stacks=[find_stack(name) for name in stacks],
        connections=("first", "repeat") if repeat else ("first",),
        runs=runs,
        seed=seed,
        client=Client(),
        restarts=restarts,
        addresses=addresses,
    ).resolve(cache_folder("pages"))
    return run(
        study,
        out=out,
        virtual=virtual,
        computing=computing,
        device=device,
        jobs=jobs,
        cluster=cluster,
    )


def run(
    study: "str | Path | Study",
    *,
    out: str | Path,
    virtual: bool = False,
    computing: bool | None = None,
    device: str | None = None,
    jobs: int | None = None,
    shard: str | None = None,
    cluster: str | None = None,
    admit_other_machines: bool = False,
) -> "Frames":
    """Make the visits of a study, or of one shard (``"3/16"``), that the folder `out` lacks; return
    the folder's tables.

    `study` is a `Study` or the path of a study file. `jobs` blocks run in parallel: by default one,
    in virtual time one per core. `cluster` names a Dask cluster as `--cluster` does; `jobs` is then
    per machine. `device` is as for `--device`. Raises as `race` does.
    """
    from dragstrip.conduct.options import RunOptions
    from dragstrip.conduct.visits import make_visits
    from dragstrip.study.file import read_study
    from dragstrip.testbed.cache import cache_folder

    if isinstance(study, str | Path):
        study = read_study(Path(study), cache_folder("pages"))
    options = RunOptions(
        out=Path(out),
        virtual=virtual,
        computing=computing,
        device=device,
        jobs=jobs,
        shard=shard,
        cluster=cluster,
        admit_other_machines=admit_other_machines,
    )
    make_visits(options.adapt(study), Path(out), options)
    return open(out)


def open(capsule: str | Path) -> "Frames":
    """Return a capsule's tables as Polars frames, see `dragstrip.results.frames.Frames`.

    Raises `dragstrip.model.errors.InputError` if the folder holds no capsule.
    """
    from dragstrip.results.frames import Frames  # Polars takes a moment to import

    return Frames(Path(capsule))
