"""The commands of docs/howto/neighbours.md, and what each tool's words mean."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from server import Places

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "neighbours.md"
OPTIONS = "Options in recipes"
"""The section that shows options of the link."""
_LINK = re.compile(r"^dragstrip link .*? -- ")
_VARIABLES = ("WEB", "WS", "GRPC")
_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


class Figures(NamedTuple):
    """What a tool measured; None if it does not say."""

    round_trip_ms: float | None
    mbps: float | None


class Recipe(NamedTuple):
    name: str
    behind: str
    """The command with `dragstrip link`."""
    own: str | None
    """The command with the tool's own throttling."""

    @property
    def alone(self) -> str:
        return _LINK.sub("", self.behind)


def variables(places: Places) -> dict[str, str]:
    """Values of the variables in the commands."""
    return dict(zip(_VARIABLES, places, strict=True))


def recipes() -> list[Recipe]:
    """The sections of tools on the page."""
    found = []
    for name, commands in _sections():
        used = [each for each in commands if re.search(rf"\$({'|'.join(_VARIABLES)})\b", each)]
        if name in _READERS:
            behind = [command for command in used if command.startswith("dragstrip link ")]
            own = [command for command in used if command not in behind]
            found.append(Recipe(name, behind[0], own[0] if own else None))
    assert {recipe.name for recipe in found} == _READERS.keys()
    return found


def with_options() -> dict[str, str]:
    """The commands of the page that show an option of the link, by option."""
    commands = dict(_sections())[OPTIONS]
    return {re.findall(r"--(?!down|delay)\w+", command)[0]: command for command in commands}


def _sections() -> Iterator[tuple[str, list[str]]]:
    for part in PAGE.read_text().split("\n## ")[1:]:
        name, _, text = part.partition("\n")
        yield name, [line.strip() for line in text.splitlines() if line.startswith("    ")]


def absent(name: str) -> str:
    """Why a tool cannot be run here; empty if it can."""
    program = _PROGRAMS.get(name, name.lower())
    if not shutil.which(program, path=_path()):
        return f"{program} is not installed"
    package = _PACKAGES.get(name)
    if package and not any(Path(folder, package).exists() for folder in _modules()):
        return f"{package} of npm is not installed"
    return ""


def measure(name: str, command: str, places: Mapping[str, str]) -> Mapping[str, Figures]:
    """Runs a command; returns what each tool measured. Raises as `said` does."""
    return _READERS[name](*said(command, places), places)


def said(command: str, places: Mapping[str, str]) -> tuple[str, str]:
    """What a command in a shell prints, on stdout and stderr. Raises `RuntimeError` if it fails."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, **places, "PATH": _path(), "NODE_PATH": os.pathsep.join(_modules())},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: {(done.stderr or done.stdout)[-800:]}")
    return done.stdout, done.stderr


def _path() -> str:
    """Where programs are sought: this environment first, and what BENCH_TOOLS names."""
    own = (str(Path(sys.executable).parent), os.environ.get("BENCH_TOOLS", ""))
    return os.pathsep.join([*filter(None, own), os.environ["PATH"]])


def _modules() -> list[str]:
    """Folders of npm's packages: those beside the programs that BENCH_TOOLS names."""
    tools = os.environ.get("BENCH_TOOLS", "")
    return [str(Path(folder).parent) for folder in tools.split(os.pathsep) if folder]


_PROGRAMS = {
    "WebSocket client": "python",
    "gRPC": "python",
    "Playwright": os.environ.get("CHROMIUM", "chromium-headless-shell"),
    "Playwright in Firefox": os.environ.get("FIREFOX", "firefox-esr"),
    "hls.js": os.environ.get("CHROMIUM", "chromium-headless-shell"),
}
_PACKAGES = {"Playwright in Firefox": "playwright-core", "hls.js": "hls.js"}
Reader = Callable[[str, str, Mapping[str, str]], Mapping[str, Figures]]


def _curl(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    connect_s, bytes_per_s = map(float, out.split())
    return {"a download": Figures(connect_s * 1000, bytes_per_s * 8 / 1e6)}


def _wget(_out: str, err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"a download": Figures(None, _rate(err, r"\(([\d.]+) ([KMG]?B)/s\)"))}


def _h2load(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    trip = re.search(r"time for connect:\s+([\d.]+)(us|ms|s)", out)
    assert trip, out
    ms = float(trip[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[trip[2]]
    return {"three downloads": Figures(ms, _rate(out, r"([\d.]+)([KMG]?B)/s"))}


def _figures(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"requests on one connection": Figures(**json.loads(out))}


def _socket(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"messages": Figures(**json.loads(out))}


def _calls(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"calls on one connection": Figures(**json.loads(out))}


def _playwright(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    found = json.loads(out)
    return {"fetch": Figures(**found["fetch"]), "WebSocket": Figures(**found["socket"])}


def _player(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"pieces of a stream": Figures(**json.loads(out))}


def _lighthouse(out: str, _err: str, _places: Mapping[str, str]) -> Mapping[str, Figures]:
    return {"network-rtt": Figures(json.loads(out)["audits"]["network-rtt"]["numericValue"], None)}


def _browsertime(_out: str, _err: str, places: Mapping[str, str]) -> Mapping[str, Figures]:
    (first,) = json.loads((Path(places["OUT"]) / "browsertime.json").read_text())
    timings = first["statistics"]["timings"]["pageTimings"]
    return {"serverResponseTime": Figures(timings["serverResponseTime"]["min"], None)}


def _rate(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1]) * _BYTES[found[2]] * 8 / 1e6


_READERS: Mapping[str, Reader] = {
    "curl": _curl,
    "wget": _wget,
    "h2load": _h2load,
    "Node": _figures,
    "Go": _figures,
    "WebSocket client": _socket,
    "gRPC": _calls,
    "Playwright": _playwright,
    "Playwright in Firefox": _playwright,
    "hls.js": _player,
    "Lighthouse": _lighthouse,
    "browsertime": _browsertime,
}
