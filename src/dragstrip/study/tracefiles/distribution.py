"""netem's delay distribution tables (``tc``, ``/usr/lib/tc/pareto.dist``): jitter of any shape.

A table is a list of whole numbers between white space, with comments (``#``). Each number is a
deviation from the mean delay; 8192 stands for one ``jitter`` of netem (iproute2, NETEM_DIST_SCALE).
"""

from pathlib import Path

from dragstrip.model.errors import InputError
from dragstrip.study.tracefiles.files import read_text

_SCALE = 8192
_LARGEST = 32_768
_MOST_ENTRIES = 65_536
"""Most entries that a table may have, as in the kernel."""


def read_distribution(path: Path) -> tuple[float, ...]:
    """Read the quantiles of a table, in units of the jitter, ascending. Raises `InputError`, which
    names file and line."""
    values: list[int] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        for word in line.partition("#")[0].split():
            try:
                value = int(word)
            except ValueError:
                value = _LARGEST
            if not -_LARGEST <= value < _LARGEST:
                raise InputError(
                    f"{path}, line {number}: {word[:20]!r} is no whole number from -{_LARGEST} to "
                    f"{_LARGEST - 1}; give a table of tc, like /usr/lib/tc/pareto.dist"
                )
            values.append(value)
    if not 2 <= len(values) <= _MOST_ENTRIES:
        raise InputError(
            f"{path}: a table has 2 to {_MOST_ENTRIES} numbers, not {len(values)}; give a table of "
            "tc, like /usr/lib/tc/pareto.dist"
        )
    return tuple(value / _SCALE for value in sorted(values))
