"""Renders pages from the templates in this folder, and in folders of other packages."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(*folders: Path, **helpers: Any) -> Environment:
    """Make a Jinja environment that escapes all text except markup, and raises an error for a
    misspelt name."""
    made = Environment(
        loader=FileSystemLoader([Path(__file__).with_name("templates"), *folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(helpers)
    return made
