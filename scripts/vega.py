"""Writes the script that draws the report's figures, and the licences of what is inside.

    uv run python scripts/vega.py             both, into src/dragstrip/report/vega; needs npm
    uv run python scripts/vega.py FOLDER      the script alone, into FOLDER

Run it after uv.lock has another vl-convert, which the script comes out of.
"""

import gzip
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import vl_convert

HOME = Path(__file__).parents[1] / "src/dragstrip/report/vega"
INSIDE = {
    "vega": vl_convert.get_vega_version(),
    "vega-lite": vl_convert.get_vegalite_versions()[-1],
    "vega-embed": vl_convert.get_vega_embed_version(),
}


def script() -> str:
    """Vega, Vega-Lite and vega-embed; the first line says which versions."""
    named = ", ".join(f"{name} {number}" for name, number in INSIDE.items())
    source = f"vl-convert-python {version('vl-convert-python')}"
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"// {named}, out of {source}; see LICENSES.txt\n{bundle}\n"


def licences() -> str:
    """Licences of the three packages and of all that npm installs for them; equal texts once."""
    with TemporaryDirectory() as folder:
        wanted = [f"{name}@{number}" for name, number in INSIDE.items()]
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        subprocess.run(["npm", "install", *quiet, *wanted], cwd=folder, check=True)
        holders: dict[str, list[str]] = {}
        for manifest in sorted(Path(folder, "node_modules").glob("**/package.json")):
            for path in manifest.parent.glob("[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"):
                package = json.loads(manifest.read_text())
                if path.is_file() and "version" in package:
                    text = "\n".join(line.rstrip() for line in path.read_text().splitlines())
                    name = f"{package['name']} {package['version']}"
                    holders.setdefault(text.strip(), []).append(name)
    told = [f"{', '.join(names)}\n\n{text}\n" for text, names in holders.items()]
    return f"\n{'-' * 80}\n\n".join(["What the script is made of.\n", *told])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HOME
    (folder / "vega.js.gz").write_bytes(gzip.compress(script().encode(), mtime=0))
    if folder == HOME:
        (HOME / "LICENSES.txt").write_text(licences(), encoding="utf-8")
