"""Writes JUnit's XML, in the form that GitLab, Jenkins and others read.

No standard defines the format. tests/data/junit.xsd describes the part that common readers agree
on. An undecided case is `skipped`, which fails no build; a broken case is an `error`.
"""

import re
from xml.etree import ElementTree as ET

from dragstrip.report.ci.cases import Case, Suite

_TAGS = {"failed": "failure", "broken": "error", "undecided": "skipped"}
_COUNTS = {"failures": "failed", "errors": "broken", "skipped": "undecided"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids (section 2.2), even as references. Servers may print such
characters."""


def junit(suite: Suite) -> bytes:
    """Write the suite as XML in UTF-8: one `testsuite` with a `testcase` per case."""
    counts = {"tests": str(len(suite.cases))} | {
        name: str(sum(case.outcome == outcome for case in suite.cases))
        for name, outcome in _COUNTS.items()
    }
    root = ET.Element("testsuites", {"name": suite.command, **counts})
    inner = ET.SubElement(root, "testsuite", {"name": suite.command, **counts})
    if suite.properties:
        properties = ET.SubElement(inner, "properties")
        for name, value in suite.properties.items():
            ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    for case in suite.cases:
        _case(inner, case, suite.command.replace(" ", "."))
    if suite.notes:
        ET.SubElement(inner, "system-out").text = _clean("\n".join(suite.notes))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ET.Element, case: Case, classname: str) -> None:
    element = ET.SubElement(suite, "testcase", {"classname": classname, "name": _clean(case.name)})
    said = _clean(case.said)
    if tag := _TAGS.get(case.outcome):
        ET.SubElement(element, tag, {"message": said, "type": case.outcome}).text = said
    elif said:
        ET.SubElement(element, "system-out").text = said


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
