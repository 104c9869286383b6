"""The audit reads what each tool writes, and whatever else is JSON."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dragstrip.audit.capture import CapturedPage, find, read
from dragstrip.audit.claims import Claims
from dragstrip.audit.judge import as_json, judge, summarise
from dragstrip.cli import app, exits
from dragstrip.model.errors import InputError

MADE = Path(__file__).parents[2] / "data" / "dialects"


def written(folder: Path, value: object, name: str = "made.har") -> Path:
    path = folder / name
    path.write_text(json.dumps(value))
    return path


def har(*entries, **changes):
    page = {"id": "p", "startedDateTime": "2026-11-01T10:00:00Z", "pageTimings": {"onLoad": 900}}
    return {"log": {"pages": [page], "entries": entries} | changes}


def entry(*, response=None, **changes):
    return {
        "pageref": "p",
        "startedDateTime": "2026-11-01T10:00:00Z",
        "time": 50,
        "request": {"url": "https://a.test/"},
        "response": {"status": 200, "bodySize": 1000} | (response or {}),
    } | changes


def one(folder: Path, value: object) -> CapturedPage:
    return next(read(written(folder, value)))


@pytest.mark.parametrize(
    ("tool", "judged", "cached", "failed", "load_ms", "protocol", "size"),
    [
        ("chrome", 1, 2, 1, 400, "h2", 1200),
        ("firefox", 1, 1, 1, 400, "h2", 1400),
        ("safari", 1, 2, 1, 400, "h2", 1200),
        ("charles", 1, 0, 1, None, "h2", 1200),
        ("fiddler", 1, 0, 1, None, "h1", 1200),
        ("insomnia", 1, 0, 0, None, "h1", 1200),
        ("webpagetest", 1, 0, 1, 400, "h2", 1200),
        ("browsertime", 1, 1, 0, 400, "h2", 1200),
        ("playwright", 1, 1, 1, 400, "h2", 1200),
        ("puppeteer", 1, 1, 0, 400, "quic", 1200),
        ("mitmproxy", 1, 0, 1, None, "h2", 1200),
    ],
)
def test_each_tool_is_read(tool, judged, cached, failed, load_ms, protocol, size):
    (capture,) = read(MADE / f"{tool}.har")
    row = judge(capture, Claims())
    assert (row.judged, row.cached, row.failed, row.load_ms) == (judged, cached, failed, load_ms)
    assert row.protocol_bytes == {protocol: size}
    assert row.wire_bytes == (size if load_ms else None)


def test_what_the_cache_held_is_no_cache_hit_if_bytes_crossed_the_wire(tmp_path):
    cache = {"beforeRequest": {"lastAccess": "", "eTag": "", "hitCount": 0}}
    assert judge(one(tmp_path, har(entry(cache=cache))), Claims()).cached == 0
    unsent = entry(cache=cache, response={"bodySize": -1})
    assert judge(one(tmp_path, har(unsent)), Claims()).cached == 1
    checked = entry(cache=cache, response={"bodySize": 0, "status": 304})
    assert judge(one(tmp_path, har(checked)), Claims()).cached == 0


def test_an_answer_ends_after_all_its_phases(tmp_path):
    """Bytes that came after the load event must not count."""
    phases = {"blocked": -1, "dns": None, "connect": "-1", "send": 1, "wait": 700, "receive": 300}
    assert one(tmp_path, har(entry(time=50, timings=phases))).answers[0].end_ms == 1001
    assert one(tmp_path, har(entry(time=1200, timings=phases))).answers[0].end_ms == 1200
    assert one(tmp_path, har(entry(time=-1, timings={"blocked": -800}))).answers[0].end_ms == 0


def test_dates_with_and_without_a_zone_stand_in_one_file(tmp_path):
    late = entry(startedDateTime="2026-11-01T10:00:00.250")
    zoned = entry(startedDateTime="2026-11-01T11:00:00.500+0100")
    ends = [a.end_ms for a in one(tmp_path, har(entry(), late, zoned)).answers]
    assert ends == [50, 300, 550]


@pytest.mark.parametrize("pages", [{}, {"pages": None}, {"pages": []}])
def test_a_har_need_not_name_a_page(tmp_path, pages):
    made = har(entry(pageref="gone"), entry())
    del made["log"]["pages"]
    capture = one(tmp_path, {"log": made["log"] | pages})
    assert (capture.name, len(capture.answers), capture.load_ms) == ("made", 2, None)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_every_unicode_coding_of_json_is_read(tmp_path, coding):
    path = tmp_path / "a.har"
    path.write_text(json.dumps(har(entry())), encoding=coding)
    assert len(next(read(path)).answers) == 1


@pytest.mark.parametrize(
    "made",
    [
        har(),
        har(entry(request={"url": "data:,a"})),
        har(entry(_fromCache="memory")),
        har(entry(response={"status": 0})),
        har(None, 7, {}, {"request": {"url": "https://a.test/"}}),
    ],
    ids=["empty", "no-server", "cached", "failed", "unreadable"],
)
def test_a_capture_of_no_answer_is_not_believed(tmp_path, made):
    path = written(tmp_path, made)
    done = CliRunner().invoke(app, ["audit", str(path), "--json"], standalone_mode=False)
    found = json.loads(done.stdout)
    assert done.return_value == exits.STAYED_INVALID
    assert (found["nothing_to_judge"], found["unbelievable"]) == (1, 1)
    assert found["rows"][0]["findings"][0] == "nothing to judge"


def test_a_bad_file_does_not_stop_the_others(tmp_path):
    written(tmp_path, har(entry()), "A.HAR")
    (tmp_path / "b.har").write_bytes(b"{")
    written(tmp_path, har(), "c.har")
    done = CliRunner().invoke(app, ["audit", str(tmp_path), "--json"], standalone_mode=False)
    found = json.loads(done.stdout)
    assert done.return_value == exits.WRONG_INPUT
    assert [(r["name"], r["findings"]) for r in found["rows"]] == [
        ("A", []),
        ("c", ["nothing to judge"]),
    ]
    assert "b.har is not a HAR: Input data was truncated" in found["unreadable_files"][0]
    assert "b.har" in done.stderr
    (tmp_path / "b.har").unlink()
    (tmp_path / "c.har").unlink()
    done = CliRunner().invoke(app, ["audit", str(tmp_path)], standalone_mode=False)
    assert done.return_value == exits.DONE


def test_files_and_folders_are_given_together(tmp_path):
    (tmp_path / "in").mkdir()
    inside = written(tmp_path / "in", har(entry()))
    beside = written(tmp_path, har(entry()), "export.json")
    assert find([beside, tmp_path / "in", inside]) == [beside, inside]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
NAMES = """log pages entries id pageref startedDateTime pageTimings onLoad request response url
 status httpVersion bodySize headersSize _transferSize _bytesIn _error _fromCache _fetchType content
 size timings connect wait time cache beforeRequest creator name version _charlesStatus""".split()
dates = st.datetimes().map(str) | st.datetimes(timezones=st.timezones()).map(str)
shapes = st.recursive(
    scalars | dates | st.just("https://a.test/"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=40,
)
entries = st.lists(
    st.fixed_dictionaries(
        {"startedDateTime": dates, "request": st.just({"url": "https://a.test/"})},
        optional={name: shapes for name in NAMES if name not in ("startedDateTime", "request")},
    )
    | shapes,
    max_size=4,
)


@given(
    values | shapes | st.builds(lambda e, p: {"log": {"entries": e, "pages": p}}, entries, shapes)
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_is_a_traceback(tmp_path, value):
    path = written(tmp_path, value)
    try:
        captures = list(read(path))
    except InputError:
        return
    rows = [judge(c, Claims(down_mbps=1, rtt_ms=10, protocol="h2")) for c in captures]
    audit = json.loads(msgspec.json.encode(as_json(summarise(rows), rows)))
    assert audit["captures"] == len(rows) > 0
