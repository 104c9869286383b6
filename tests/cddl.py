"""CDDL (RFC 8610) as JSON Schema, as far as the drafts of qlog use it.

Stricter than CDDL where the drafts leave extension points: a field that no rule names is refused.
"""

import re
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_TOKEN = re.compile(
    r"""\s+|;[^\n]*|("(?:[^"\\]|\\.)*"|=>|/=|\.\.|\.[a-z]+|[$A-Za-z_@][\w$@-]*|\d+|[][{}()/=?*+:,~])"""
)
_PRELUDE: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "bool": {"type": "boolean"},
    "uint": {"type": "integer", "minimum": 0},
    "int": {"type": "integer"},
    "float32": {"type": "number"},
    "float64": {"type": "number"},
    "any": {},
}


def json_schema(cddl: str, root: str) -> Schema:
    """A JSON Schema for the type `root`. Raises `SyntaxError` for what it cannot read."""
    rules = _Rules(cddl)
    return {"$ref": f"#/$defs/{_name(root)}", "$defs": rules.schemas()}


class _Rules:
    def __init__(self, cddl: str) -> None:
        self._tokens = self._split(cddl)
        self._at = 0
        self._rules: dict[str, list[Any]] = {}
        while self._at < len(self._tokens):
            name, sign = self._next(), self._next()
            if sign not in ("=", "/="):
                raise SyntaxError(f"{name}: expected = or /=, not {sign}")
            self._rules.setdefault(name, []).append(self._type())

    def schemas(self) -> Schema:
        return {_name(k): _any([self._schema(t) for t in v]) for k, v in self._rules.items()} | {
            _name(socket): {} for socket in self._sockets() - self._rules.keys()
        }

    def _sockets(self) -> set[str]:
        return {t for t in self._tokens if t.startswith("$") and not t.startswith("$$")}

    @staticmethod
    def _split(cddl: str) -> list[str]:
        at, found = 0, []
        while at < len(cddl):
            match = _TOKEN.match(cddl, at)
            if not match:
                raise SyntaxError(f"cannot read {cddl[at : at + 40]!r}")
            found += [match[1]] if match[1] else []
            at = match.end()
        return found

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _type(self) -> Any:
        ways = [self._one()]
        while self._peek() == "/":
            self._next()
            ways.append(self._one())
        return ("any of", ways) if len(ways) > 1 else ways[0]

    def _one(self) -> Any:
        token = self._next()
        if token in "{[":
            made: Any = (
                "map" if token == "{" else "list",
                self._group("}" if token == "{" else "]"),
            )
        elif token == "(":
            made = self._type()
            self._next()
        elif token == "~":
            made = ("unwrapped", self._next())
        elif token[0] == '"' or token.isdigit():
            made = ("value", token.strip('"') if token[0] == '"' else int(token))
        else:
            made = ("named", token)
        while self._peek() in (".size", ".regexp", ".default"):
            made = (self._next(), made, self._one())
        return made

    def _group(self, end: str) -> list[Any]:
        entries = []
        while self._peek() != end:
            occurs = ""
            if self._peek().isdigit() and self._peek(1) == "*":
                occurs = "".join(self._next() for _ in range(3))
            elif self._peek() in ("?", "*", "+"):
                occurs = self._next()
            key = None
            if self._peek(1) in (":", "=>"):
                key, _ = self._next(), self._next()
            entries.append((occurs, key, self._type()))
            if self._peek() == ",":
                self._next()
        self._next()
        return entries

    def _schema(self, kind: Any) -> Schema:
        match kind:
            case ("any of", ways):
                return _any([self._schema(way) for way in ways])
            case ("value", value):
                return {"const": value}
            case ("named", name):
                return (
                    dict(_PRELUDE[name]) if name in _PRELUDE else {"$ref": f"#/$defs/{_name(name)}"}
                )
            case (".size", inner, ("value", bytes_)):
                return self._schema(inner) | {"maximum": (1 << 8 * bytes_) - 1}
            case (".regexp", inner, ("value", pattern)):
                return self._schema(inner) | {"pattern": f"^(?:{pattern})$"}
            case (".default", inner, _):
                return self._schema(inner)
            case ("list", [(occurs, None, inner)]):
                least, _, most = {"+": "1*", "": "1*1"}.get(occurs, occurs).partition("*")
                bounds = {"minItems": int(least or 0)} | ({"maxItems": int(most)} if most else {})
                return {"type": "array", "items": self._schema(inner), **bounds}
            case ("map", entries):
                return self._map(entries)
        raise SyntaxError(f"no schema for {kind}")

    def _map(self, entries: list[Any]) -> Schema:
        fields: Schema = {}
        required: list[str] = []
        more: Any = False
        for occurs, key, kind in entries:
            match key, kind:
                case None, ("unwrapped", name):
                    inner = self._map(self._rules[name][0][1])
                    fields |= inner["properties"]
                    required += inner["required"]
                case None, ("named", name) if name.startswith("$$"):
                    pass  # an extension point, without extensions here
                case "text", _ if occurs == "*":
                    more = self._schema(kind)
                case str(), _:
                    fields[key.strip('"')] = self._schema(kind)
                    required += [] if occurs in ("?", "*") else [key.strip('"')]
                case _:
                    raise SyntaxError(f"no field for {kind}")
        return {
            "type": "object",
            "properties": fields,
            "required": required,
            "additionalProperties": more,
        }


def _any(ways: list[Schema]) -> Schema:
    return ways[0] if len(ways) == 1 else {"anyOf": ways}


def _name(text: str) -> str:
    return text.replace("$", "socket-")
