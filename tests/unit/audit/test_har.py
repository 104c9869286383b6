"""The HAR of a visit, read by a reader that is not ours, and held against the published schema."""

import json
import os
import subprocess

import pytest
from haralyzer import HarParser

import made
from dragstrip.audit.capture import read
from made_har import archive, unanswered

CHECK = """
const schemas = require("har-schema"), Ajv = require("ajv");
const ajv = new Ajv({allErrors: true, schemaId: "auto"});
ajv.addMetaSchema(require("ajv/lib/refs/json-schema-draft-06.json"));
for (const name of Object.keys(schemas)) ajv.addSchema(schemas[name]);
ajv.validate("har.json#", JSON.parse(require("fs").readFileSync(0)));
console.log(JSON.stringify(ajv.errors || []));
"""


def test_an_independent_reader_finds_the_same_load():
    parser = HarParser(archive())
    (page,) = parser.pages
    assert page.page_load_time == 900.0
    assert page.page_size_trans == 60_000
    assert [e.request.url for e in page.entries] == [r.url for r in made.PAGE.resources]
    assert {e.response.httpVersion for e in page.entries} == {"HTTP/3"}


def test_our_own_audit_reads_it_too(tmp_path):
    (tmp_path / "ours.har").write_text(json.dumps(archive()))
    (capture,) = read(tmp_path / "ours.har")
    assert (capture.load_ms, capture.loaded_bytes()) == (900.0, 60_000)
    assert [a.connect_ms for a in capture.answers] == [160.0, None, None]
    (tmp_path / "lost.har").write_text(json.dumps(unanswered()))
    (capture,) = read(tmp_path / "lost.har")
    assert (capture.load_ms, [a.failed for a in capture.answers]) == (None, [True])


@pytest.mark.parametrize("made_up", [archive, unanswered])
def test_it_obeys_the_published_schema(made_up):
    folder = os.environ.get("HAR_SCHEMA_DIR")
    if not folder:
        pytest.skip("HAR_SCHEMA_DIR names no folder with npm's har-schema and ajv@6")
    done = subprocess.run(
        ["node", "-e", CHECK],
        cwd=folder,
        input=json.dumps(made_up()),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
