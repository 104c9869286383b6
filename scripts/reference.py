"""Writes the pages of the reference that are made from the code itself.

    scripts/uv run python scripts/reference.py        # into docs/reference

`tests/unit/project/test_reference.py` fails while one of them is out of date.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.cli.machine.doctor import CheckResult
from dragstrip.cli.machine.link_summary import LinkSummary
from dragstrip.cli.manual import CODES, page
from dragstrip.cli.usage import every
from dragstrip.league.result import LeagueResult
from dragstrip.model.effects import STAGES
from dragstrip.results.compare.attribution import Why
from dragstrip.results.compare.gate import Output
from dragstrip.results.compare.summary import Summary
from dragstrip.results.tables.build import METRIC_OF, frames
from dragstrip.results.tables.columns import describe
from dragstrip.study.schema import schema_text, study_schema
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import published
from dragstrip_papers.evidence import SCHEMA
from dragstrip_papers.kept import COLUMNS, FILE
from dragstrip_papers.predicates import stacks_of

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- made by scripts/reference.py: change the code, not this page -->\n\n"
OUTPUTS: Mapping[str, tuple[Any, str]] = {
    "race": (Summary, "`race`, `run`, `merge` and `report`"),
    "compare": (Output, "`compare`"),
    "why": (Why, "`why`"),
    "league": (LeagueResult, "`league`"),
    "doctor": (list[CheckResult], "`doctor`"),
    "link": (LinkSummary, "`link`, in the last line"),
}


def main() -> None:
    for name, text in pages().items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def pages() -> dict[str, str]:
    """File names below docs/reference, and their text."""
    schemas = {f"json/{name}.schema.json": _schema(kind) for name, (kind, _) in OUTPUTS.items()}
    return {
        "commands.md": _commands(),
        "study.md": _study(),
        "tables.md": _tables(),
        "settings.md": _settings(),
        "literature.md": _literature(),
        "json.md": _json(),
        "json/study.schema.json": schema_text(),
        "dragstrip.1": page(),
        **schemas,
    }


def _commands() -> str:
    lines = ["# Every command and option", MADE]
    for usage in every():
        lines += [f"## dragstrip {usage.name}", "", usage.help, ""]
        lines += [f"    dragstrip {usage.name} {usage.synopsis}", ""]
        rows = [(f"`{p.names}`", p.help) for p in (*usage.arguments, *usage.options)]
        if rows:
            lines += [*_table(("option", "meaning"), rows), ""]
    lines += ["## Exit codes", ""]
    lines += _table(("code", "meaning"), [(str(code), said) for code, said in CODES.items()])
    return "\n".join(lines) + "\n"


def _study() -> str:
    schema = study_schema()
    lines = [
        "# Every key of a study file",
        MADE,
        "A study file is TOML. `dragstrip schema` prints its JSON schema, which is also "
        "[here](json/study.schema.json). An editor completes and checks a study whose first line "
        "names it:",
        "",
        "    #:schema study.schema.json",
        "",
        *_keys(schema),
    ]
    for name, part in sorted(schema["$defs"].items()):
        if "properties" in part:
            lines += ["", f"## {name}", "", *_said(part), *_keys(part)]
            lines += _stages() if name == "Direction" else []
    return "\n".join(lines) + "\n"


def _stages() -> list[str]:
    lines = ["", "Default order of the stages, of which a packet passes those in use:", ""]
    return lines + [f"- `{side}`: {', '.join(order)}" for side, order in STAGES.items()]


def _keys(part: Mapping[str, Any]) -> list[str]:
    required = part.get("required", ())
    rows = []
    for key, field in part["properties"].items():
        default = "required" if key in required else _default(field)
        rows.append((f"`{key}`", field.get("description", ""), _kind(field), default))
    return _table(("key", "meaning", "type", "default"), rows)


def _said(part: Mapping[str, Any]) -> list[str]:
    said = part.get("description", "")
    return [" ".join(said.split()), ""] if said else []


def _default(field: Mapping[str, Any]) -> str:
    if isinstance(field.get("default", {}), dict) or field["default"] in ([], ""):
        return "-"
    return f"`{msgspec.json.encode(field['default']).decode()}`"


def _kind(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_kind(way) for way in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        inner = field.get("items") or {}
        return f"list of {_kind(inner)}" if inner else "list"
    if isinstance(field.get("additionalProperties"), dict):
        return f"tables of {_kind(field['additionalProperties'])}"
    return str(field.get("type", "any")) + _range(field)


def _range(field: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [f"{sign} {field[key]:g}" for key, sign in signs.items() if key in field]
    return f" {', '.join(said)}" if said else ""


def _tables() -> str:
    lines = [
        "# Every column of every table",
        MADE,
        "The tables of a capsule, as Parquet beside its report, by `dragstrip export`, and by "
        '`dragstrip.open("DIR").table(NAME)`. `export` writes this list too, as `columns.csv`.',
    ]
    columns = describe(frames([]))
    for (name,), rows in columns.group_by("table", maintain_order=True):
        lines += ["", f"## {name}", ""]
        lines += _table(
            ("column", "meaning", "unit", "type"),
            [(f"`{r['column']}`", r["meaning"], r["unit"], r["type"]) for r in rows.to_dicts()],
        )
        if name == "visits":
            pairs = ", ".join(f"`{old}` is `{metric}`" for old, metric in METRIC_OF.items())
            lines += ["", f"Older tables have these metrics under a second name: {pairs}."]
    lines += [
        "",
        "## loads",
        "",
        f"`{FILE}` of a folder that `dragstrip reproduce` made: a row for each load that its "
        "answers rest on. [Its metadata](../decisions/0049-loads-that-answer-again.md) says how "
        "they were made.",
        "",
        *_table(
            ("column", "meaning", "type"),
            [(f"`{name}`", COLUMNS[name], str(kind)) for name, kind in SCHEMA.items()],
        ),
    ]
    return "\n".join(lines) + "\n"


def _settings() -> str:
    lines = [
        "# Every setting of the origin",
        MADE,
        "A number that shapes a load is a field of the [stack](stack.md), or stands here with the "
        "reason why it is none. A test reads the settings of each library from its sources and "
        "those of TCP from the kernel, and fails while one is missing here. The list itself is "
        "[settings.toml](settings.toml).",
    ]
    for part in tomllib.loads((FOLDER / "settings.toml").read_text())["part"]:
        lines += ["", f"## {part['name']}", ""]
        lines += [part["about"], ""] if "about" in part else []
        rows = [(f"`{name}`", f"field `{field}`") for name, field in part["fields"].items()]
        rows += [(f"`{name}`", why) for name, why in part["reasons"].items()]
        lines += _table(("setting", "set by, or why by none"), rows)
    return "\n".join(lines) + "\n"


def _literature() -> str:
    paper = published("literature")
    read = {source.id: source.read for source in paper.sources}
    cells = space(paper.specs())
    rows = []
    for claim in paper.claims:
        if claim.predicate:
            asked = reach(claim.predicate, cells)
            stacks = stacks_of(claim.predicate, asked["stacks"].explode().unique().sort())
            pages, networks = (
                ", ".join(asked[name].unique().sort()) for name in ("page", "network")
            )
            kind = "surrogate" if {*stacks} & {*paper.stands_for} else "its own"
            near = f"{kind}, stand-in" if asked["standin"].any() else kind
            where = f"{claim.source} ({read[claim.source]}), {claim.section}"
            said = f"{claim.says} {claim.note}".rstrip()
            published_ = " ".join(filter(None, (claim.published, claim.tolerance)))
            asked_of = f"{', '.join(stacks)}; {pages}; {networks}"
            rule = type(claim.predicate).__name__
            rows.append((claim.id, where, said, published_, asked_of, rule, near))
    lines = ["# The literature after", MADE]
    lines += [
        f"{len(paper.claims)} claims from {len(paper.sources)} publications of 2017 to 2026, which "
        "`dragstrip reproduce literature` answers as it does a paper's. How much of a source was "
        "read stands in brackets; *abstract* and *second-hand* ones may say more, or say it "
        "otherwise. *Surrogate*: a stack of today for an older or foreign one. *Stand-in*: the "
        "source does not say which page.",
        "",
        *_table(
            ("claim", "source", "it says", "published", "asked of", "predicate", "stacks"), rows
        ),
        "## Sources",
        "",
        *(f"- **{source.id}**: {source.words()}" for source in paper.sources),
        "",
    ]
    return "\n".join(lines)


def _json() -> str:
    lines = ["# What --json prints", MADE]
    lines += ["One object on standard output. Each schema is a file:", ""]
    rows = [(said, f"[{name}](json/{name}.schema.json)") for name, (_, said) in OUTPUTS.items()]
    lines += _table(("command", "schema"), rows)
    lines += ["", "Study files have one too: [study](json/study.schema.json)."]
    return "\n".join(lines) + "\n"


def _schema(kind: Any) -> str:
    made = msgspec.json.schema(kind)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    return msgspec.json.format(msgspec.json.encode(made), indent=2).decode() + "\n"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return list(_rows(head, rows))


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
