"""Web fonts drawn for dragstrip by `scripts/fonts.py`."""

from importlib.resources import files


def font(name: str) -> bytes:
    """Return a WOFF2 file of this folder, such as ``longshore-400``."""
    return files(__name__).joinpath(f"{name}.woff2").read_bytes()
