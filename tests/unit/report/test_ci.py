"""What `compare` and `servers check` write for CI systems: JUnit's XML, annotations, Markdown."""

import re
from pathlib import Path

import pytest
import simulate
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dragstrip.cli import app, exits
from dragstrip.cli.machine import servers
from dragstrip.conduct.conformance import ConformanceResult
from dragstrip.model.errors import InputError
from dragstrip.report.ci.annotations import annotations
from dragstrip.report.ci.answered import answered_summary
from dragstrip.report.ci.cases import Case, Suite
from dragstrip.report.ci.junit import junit
from dragstrip.report.ci.markdown import table
from dragstrip.report.data.one_page import one_page
from dragstrip.results.tables.build import frames
from made_capsule import capsule

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "data" / "junit.xsd"))
OUTCOMES = ("passed", "failed", "undecided", "broken")


def read(content: bytes) -> etree._Element:
    root = etree.fromstring(content)
    SCHEMA.assertValid(root)
    return root


def suite(*cases: Case, **more: object) -> Suite:
    return Suite(command="dragstrip compare", cases=cases, **more)


@pytest.fixture
def sides(tmp_path) -> tuple[str, str]:
    """h3 is 20 % slower in `change`."""
    times = [1000.0 + 7 * i for i in range(12)]
    capsule(tmp_path / "base", {"h2": times, "h3": times})
    capsule(tmp_path / "change", {"h2": times, "h3": [1.2 * t for t in times]})
    return str(tmp_path / "base"), str(tmp_path / "change")


def test_a_comparison_is_one_case_per_condition_stack_and_cell(tmp_path, sides):
    out = tmp_path / "new" / "junit.xml"
    asked = ["compare", *sides, "--junit", str(out)]
    asked += ["--fail-if", "slower > 5%", "--fail-if", "ttfb slower > 5%"]
    assert app(asked, standalone_mode=False) == exits.FAILED_CONDITION
    root = read(out.read_bytes())
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
    }
    (failure,) = root.iter("failure")
    case = failure.getparent()
    assert case.get("classname") == "dragstrip.compare"
    assert case.get("name") == "slower > 5%: h3 on made over LTE"
    assert re.match(r"failed: plt B / A 1\.200 \(.*\), 12 pairs \(p .*\)$", failure.get("message"))


def test_without_a_condition_there_is_no_case_to_write(tmp_path, sides):
    for option in (["--junit", str(tmp_path / "x.xml")], ["--annotate", "github"]):
        with pytest.raises(InputError, match="--fail-if 'slower > 5%'"):
            app(["compare", *sides, *option], standalone_mode=False)


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_file_that_cannot_be_written_is_named(tmp_path, sides, option):
    (tmp_path / "file").write_text("")
    asked = ["compare", *sides, "--fail-if", "slower > 5%", option]
    for place in (tmp_path / "file" / "x", tmp_path):
        with pytest.raises(InputError, match=str(place)):
            app([*asked, str(place)], standalone_mode=False)


def test_json_and_markdown_do_not_mix_on_stdout(sides):
    with pytest.raises(InputError, match="both write to stdout"):
        app(["compare", *sides, "--json", "--markdown", "-"], standalone_mode=False)


def test_annotations_go_to_stderr_and_the_summary_to_stdout(sides, capfd):
    asked = ["compare", *sides, "--annotate", "github", "--markdown", "-"]
    asked += ["--fail-if", "slower > 5%"]
    assert app(asked, standalone_mode=False) == exits.FAILED_CONDITION
    said = capfd.readouterr()
    (error,) = re.findall("^::error title=(.*)::(.*)$", said.err, re.M)
    assert error[0] == "dragstrip compare%3A slower > 5%25%3A h3 on made over LTE"
    assert error[1].startswith("failed: plt B / A 1.200 (")
    assert "::" not in said.out
    lines = said.out.splitlines()
    assert lines[0] == "### dragstrip: a condition failed"
    assert lines[2] == "| page and network | stack | metric | change / base (95 %) | loads |"
    assert any(re.match(r"\| made over LTE \| h3 \| plt \| 1\.200 \(", line) for line in lines)
    assert any(re.match(r"- \*\*slower \\> 5%: h3 on made over LTE\*\*: fail", s) for s in lines)
    assert "- 1 of 2 passed" in lines


def test_a_build_with_too_many_invalid_loads_is_an_error_not_a_skip(tmp_path, monkeypatch):
    from dragstrip.results.compare import capsules

    monkeypatch.setattr(capsules, "stayed_invalid", lambda *_: True)
    few = [1000.0, 1100.0]
    sides = [str(capsule(tmp_path / name, {"h2": few, "h3": few}).path) for name in "ab"]
    out, text = tmp_path / "junit.xml", tmp_path / "summary.md"
    asked = ["compare", *sides, "--fail-if", "slower > 5%"]
    asked += ["--junit", str(out), "--markdown", str(text)]
    assert app(asked, standalone_mode=False) == exits.STAYED_INVALID
    assert read(out.read_bytes()).get("errors") == "2"
    assert text.read_text().startswith("### dragstrip: cannot tell, too many invalid loads\n")


def test_a_server_s_checks_are_cases_and_unknown_is_skipped(tmp_path, monkeypatch, capfd):
    found = [
        ConformanceResult(protocol="h2", what="resumes", outcome=outcome, said=said)
        for outcome, said in (("yes", ""), ("no", "a | b\n50 % lost"), ("unknown", "no log"))
    ]
    found = [
        ConformanceResult(protocol=f"h{i}", what=f.what, outcome=f.outcome, said=f.said)
        for i, f in enumerate(found, start=1)
    ]
    monkeypatch.setattr(servers, "conformance", lambda *_: iter(found))
    out, text = tmp_path / "junit.xml", tmp_path / "summary.md"
    asked = ["servers", "check", "nginx", "--junit", str(out), "--markdown", str(text)]
    assert app([*asked, "--annotate", "github"], standalone_mode=False) == exits.FAILED_CONDITION
    root = read(out.read_bytes())
    kinds = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert kinds == {
        "nginx: h1 resumes": [],
        "nginx: h2 resumes": ["failure"],
        "nginx: h3 resumes": ["skipped"],
    }
    assert (
        "::error title=dragstrip servers check%3A nginx%3A h2 resumes::a | b%0A50 %25 lost\n"
        in (capfd.readouterr().err)
    )
    assert "| h2 | resumes | no | a \\| b 50 % lost |" in text.read_text()


@given(
    st.lists(
        st.builds(
            Case,
            name=st.text(min_size=1),
            outcome=st.sampled_from(OUTCOMES),
            said=st.text(),
        ),
        unique_by=lambda case: case.name,
    ),
    st.lists(st.text()),
)
def test_any_text_is_valid_xml_and_one_line_per_annotation(cases, notes):
    named = [
        Case(name=f"{i} {c.name}", outcome=c.outcome, said=c.said) for i, c in enumerate(cases)
    ]
    made = suite(*named, notes=notes, properties={"a": "".join(notes)})
    root = read(junit(made))
    assert [int(root.get(name)) for name in ("tests", "failures", "errors", "skipped")] == [
        len(cases),
        *(len(made.of(outcome)) for outcome in ("failed", "broken", "undecided")),
    ]
    lines = list(annotations(made))
    assert len(lines) == len(cases) - len(made.of("passed")) + len(notes)
    for line in lines:
        assert re.fullmatch(r"::(error|warning|notice) title=[^:,\r\n]*::[^\r\n]*\n", line)


@pytest.mark.parametrize(
    "wrong",
    [
        b"<testsuites><testcase name='x' classname='y'/></testsuites>",
        b"<testsuite name='x' tests='one'/>",
        b"<testsuite name='x' tests='1'><testcase name='x'/></testsuite>",
        b"<testsuite name='x' tests='1'><testcase name='x' classname='y'><failure/><skipped/>"
        b"</testcase></testsuite>",
        b"<testsuite name='x' tests='2'><testcase name='x' classname='y'/>"
        b"<testcase name='x' classname='y'/></testsuite>",
    ],
)
def test_the_schema_refuses_what_readers_do_not_understand(wrong):
    assert not SCHEMA.validate(etree.fromstring(wrong))


def test_what_failed_comes_first():
    cases = [Case(name=outcome, outcome=outcome) for outcome in reversed(OUTCOMES)]
    levels = [line.split()[0] for line in annotations(suite(*cases, notes=["n"]))]
    assert levels == ["::error", "::error", "::warning", "::notice"]


def test_a_table_keeps_its_columns():
    assert table(("a", "b"), [("x|y", "*z*\n`")]) == [
        "| a | b |",
        "|---|---|",
        r"| x\|y | \*z\* \` |",
    ]


def test_a_study_s_answer_as_markdown_has_its_bars_conditions_and_limits(tmp_path):
    of = simulate.study(pages=(simulate.page("de|mo", 6, 1),), runs=5)
    made = frames(simulate.visits(of), of)["visits"].with_row_index("row").lazy()
    said = answered_summary(one_page(simulate.manifest(of), made))
    rows = [line for line in said.splitlines() if "`█" in line]
    assert [row.split()[1] for row in rows] == ["h3", "h2", "h1"]
    assert "▒" not in rows[0]
    assert "▒" in rows[1]
    assert "fastest" in rows[0]
    assert "- Networks: LTE: down 10.5 Mbit/s" in said
    assert "What limits this answer:" in said
    assert "de|mo" not in said.replace("de\\|mo", "")
