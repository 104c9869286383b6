"""The JSON schema of study files, made from the types that read them.

Editors complete and check a study whose first line is `#:schema PATH` (Taplo and others). The
schema accepts errors that only reading detects, such as two fields that exclude each other.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.study.clients import CLIENTS
from dragstrip.study.file import StudyFile

_PLACES: dict[str, type] = {"network": Network, "stack": Stack, "server": Server}
"""Keys whose tables have names that the study chooses, such as `[network.NAME]`."""
_ORDER = """
    pages networks stacks runs name seed network stack connections server client think_time
    addresses controls controls_every warm_ups restarts stopping slow thresholds clock sample
    metrics done
""".split()
"""The order of keys in documentation and editors. A key that is missing here comes last."""
_REF = "#/$defs/{name}"


def study_schema() -> dict[str, Any]:
    """Return the schema of a study file (JSON Schema, draft 2020-12)."""
    types = (StudyFile, Network, Stack, Server, Client)
    _, defs = msgspec.json.schema_components(types, ref_template=_REF)
    for name, kind in _structs(StudyFile, *types).items():
        if name in defs:
            _describe(defs[name], kind)
    root = defs.pop("StudyFile")
    for place, kind in _PLACES.items():
        table = defs[kind.__name__]
        table["properties"].pop("name")
        table.pop("required", None)
        root["properties"][place] = {
            "type": "object",
            "description": f"{place.capitalize()}s of this study, by name.",
            "additionalProperties": {"$ref": _REF.format(name=kind.__name__)},
        }
    _network_files(defs["Network"], defs["Direction"])
    _step_files(defs["LinkStep"])
    defs["Stack"]["properties"].pop("brought")
    defs["Stack"]["properties"]["base"] = {
        "type": "string",
        "description": "A known stack, or one above in this file; it gives the fields left out.",
    }
    defs["Server"]["properties"]["command"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Starts the server and stays: words as a shell splits them.",
    }
    defs["Server"]["properties"]["base"] = {
        "type": "string",
        "description": "A name of `dragstrip list servers`; it gives the keys left out.",
    }
    defs["Server"]["properties"]["config_file"] = {
        "type": "string",
        "description": "A file with the text of `config`, relative to the study.",
    }
    program = {
        "enum": list(CLIENTS),
        "default": CLIENTS[0],
        "description": "What loads the pages: the browser of each stack, or the load generator.",
    }
    defs["Client"]["additionalProperties"] = False
    defs["Client"]["properties"]["program"] = program
    root["properties"]["client"] = {
        "description": "The client, or just its program: `loader` for the load generator.",
        "if": {"type": "object"},
        "then": {"$ref": _REF.format(name="Client")},
        "else": program,
    }
    _tidy([root, defs])
    keys = root["properties"]
    root["properties"] = {k: keys[k] for k in dict.fromkeys((*_ORDER, *keys)) if k in keys}
    root["required"].sort(key=list(root["properties"]).index)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": "A study of dragstrip",
        "description": "docs/reference/study.md explains the keys.",
        "$defs": defs,
    }


def schema_text() -> str:
    """Return the schema as text, as in the published file."""
    return msgspec.json.format(msgspec.json.encode(study_schema()), indent=2).decode() + "\n"


def _tidy(part: Any) -> None:
    """Remove null, which TOML lacks: a field without a value is left out. Also dedent texts."""
    if isinstance(part, list):
        for inner in part:
            _tidy(inner)
        return
    if not isinstance(part, dict):
        return
    if part.get("default", "") is None:
        del part["default"]
    if isinstance(part.get("description"), str):
        part["description"] = inspect.cleandoc(part["description"])  # msgspec 0.22 left it indented
    if "anyOf" in part:
        ways = [way for way in part["anyOf"] if way != {"type": "null"}]
        part["anyOf"] = ways
        if len(ways) == 1:
            del part["anyOf"]
            part |= {**ways[0], **part}
    for inner in part.values():
        _tidy(inner)


def _step_files(step: dict[str, Any]) -> None:
    """Let a step say when by `t`, as `read_steps` accepts."""
    when = {"type": "string", "description": "The same with its unit, such as `2 s`."}
    step["properties"] = {"t": when, **step["properties"]}
    step.pop("required")
    step["oneOf"] = [{"required": ["t"]}, {"required": ["t_ms"]}]


def _network_files(network: dict[str, Any], direction: dict[str, Any]) -> None:
    """Add the keys that `read_network` accepts besides the fields of a network."""
    network["properties"]["two_way_loss"] = {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "Instead of `loss`: of packets or their answers, shared by both directions.",
    }
    network["required"] = ["down", "up"]
    for trace in ("trace", "delay_trace"):
        direction["properties"][trace]["anyOf"].append(
            {"type": "string", "description": "A trace's file, relative to the study."}
        )
    direction["properties"]["rate_of_down"] = {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "Of `up`, instead of `rate_mbps` and `trace`: the share of the rates down "
        "that the way up has, also at steps.",
    }
    table = direction["properties"]["jitter_table"]
    direction["properties"]["jitter_table"] = {
        "anyOf": [
            {k: v for k, v in table.items() if k not in ("default", "description")},
            {
                "type": "string",
                "description": "A delay distribution of netem, relative to the study.",
            },
        ],
        "default": table["default"],
        "description": table["description"],
    }


def field_docs(kind: type) -> Mapping[str, str]:
    """Return the docstring below each field of a struct and of its base structs, each on one
    line."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Struct) and base is not Struct:
            docs |= _own_docs(base)
    return docs


def _own_docs(kind: type) -> Mapping[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    docs = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            docs[field.target.id] = " ".join(str(below.value.value).split())
    return docs


def _describe(schema: dict[str, Any], kind: type) -> None:
    for name, said in field_docs(kind).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = said


def _structs(*kinds: type) -> dict[str, type]:
    """Return the model's structs by name, including those of nested fields."""
    types: dict[str, type] = {}
    modules = {inspect.getmodule(base) for kind in (*kinds, Direction) for base in kind.__mro__}
    modules |= {m for n, m in sys.modules.items() if n.startswith("dragstrip.model")}
    for module in filter(None, modules):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Struct):
                types[name] = kind
    return types
