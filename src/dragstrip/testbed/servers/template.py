"""Fills in the templates of a server's description, for its command line and configuration."""

import re
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, StrictUndefined, TemplateError, meta

from dragstrip.testbed.errors import TestbedError

_JINJA = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
_SPREAD = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def render(text: str, what: str, **values: Any) -> str:
    """Fill in a template. Raises `TestbedError`, which names `what` and the wrong line."""
    try:
        return _JINJA.from_string(text).render(**values)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f"{what}, line {line}" if line else what
        named = ", ".join(sorted(values))
        raise TestbedError(f"{where}: {error.message}; choose from {named}") from None


def arguments(command: Iterable[str], **values: Any) -> list[str]:
    """Return the arguments of a command. An argument that is only a list becomes one argument per
    item. Raises as `render` does."""
    made: list[str] = []
    for text in command:
        alone = _SPREAD.fullmatch(text.strip())
        value = values.get(alone[1]) if alone else None
        made += map(str, value) if isinstance(value, list) else [render(text, text, **values)]
    return made


def mentioned(*texts: str) -> frozenset[str]:
    """Return the variables that these templates use."""
    try:
        found = (meta.find_undeclared_variables(_JINJA.parse(text)) for text in texts)
        return frozenset().union(*found)
    except TemplateError:
        return frozenset()  # `render` reports the error
