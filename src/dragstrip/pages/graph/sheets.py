"""Finds the references in a style sheet."""

import re

_COMMENT = re.compile(r"/\*.*?(\*/|\Z)", re.S)
_IMPORT = re.compile(r"""@import\s+(?:url\(\s*)?["']?([^"')\s;]+)""", re.I)
_URL = re.compile(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^()"'\s]+))\s*\)""", re.I)


def imports(text: str) -> list[str]:
    """Return the URLs of further style sheets, as written."""
    return _IMPORT.findall(_COMMENT.sub("", text))


def references(text: str) -> list[str]:
    """Return the URLs of all other references, as written, without ``data:``."""
    plain = _IMPORT.sub("", _COMMENT.sub("", text))
    found = ("".join(groups) for groups in _URL.findall(plain))
    return [url for url in found if url and not url.lower().startswith("data:")]
