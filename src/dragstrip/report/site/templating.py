"""How pages are made from the templates beside this file."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(**helpers: Any) -> Environment:
    """Escapes everything that is not markup; a name that a template misspells is an error."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(helpers)
    return made
