"""Builds our C++ program, linked with the libraries of an unpacked archive.

`NAME.libraries` next to `NAME.cpp` lists the libraries, one per line; they end up in the folder
`lib`. No headers are needed: the sources declare what they use.
"""

import shutil
from pathlib import Path

from dragstrip.testbed.legacy.catalogue import Item
from dragstrip.testbed.legacy.fetch import Progress, run


def build_cpp(item: Item, scratch: Path, target: Path, progress: Progress) -> None:
    """Compile the sources of `item` into its `run`, and copy its other files. Raises `TestbedError`
    with the compiler's last lines."""
    program = target / item.run
    program.parent.mkdir(exist_ok=True)
    for source in item.sources.glob("*.cpp"):
        libraries = source.with_suffix(".libraries").read_text().split()
        link = [f"-L{target / 'lib'}", *(f"-l:{name}" for name in libraries)]
        # The loader finds the libraries that the archive's libraries need themselves. Those
        # libraries say where.
        link += ["-Wl,-rpath,$ORIGIN/../lib", "-Wl,--allow-shlib-undefined"]
        run(
            ["g++", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program), *link],
            cwd=scratch,
            environment={},
            watch=scratch,
            progress=progress,
        )
    for other in item.sources.glob("*.qml"):
        shutil.copy(other, program.parent)
