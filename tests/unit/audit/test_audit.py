"""The audit: what it reads, what it calls impossible, and that published captures are found out."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dragstrip.audit.capture import CapturedPage, find, read
from dragstrip.audit.claims import Claims, compile_pattern, from_name
from dragstrip.audit.dialects import family
from dragstrip.audit.judge import judge, summarise
from dragstrip.cli import app
from dragstrip.model.errors import InputError
from dragstrip.pages.format import zstd
from dragstrip.report.site.audit import page

PUBLISHED = Path(__file__).parents[2] / "data" / "ranjan2019-timings.json.gz"


def entry(
    at_ms: int = 0, took_ms: float = 50, wire: int | None = 1000, version: str = "h2", **changes
):
    response = {
        "status": 200,
        "httpVersion": version,
        "headersSize": -1,
        "bodySize": -1,
        "content": {"size": 1_000_000},
    }
    if wire is not None:
        response["_transferSize"] = wire
    return {
        "startedDateTime": f"2019-12-01T12:00:{at_ms / 1000:06.3f}Z",
        "time": took_ms,
        "request": {"url": "https://a.test/"},
        "response": response,
        "timings": {"connect": 40.0},
    } | changes


def har(*entries, load_ms: float | None = 1000, pages: int = 1):
    page = {"startedDateTime": "2019-12-01T12:00:00Z", "pageTimings": {"onLoad": load_ms}}
    return {
        "log": {
            "creator": {"name": "tool", "version": "1"},
            "pages": [page | {"id": f"p{i}", "title": "t"} for i in range(pages)],
            "entries": [{"pageref": "p0"} | e for e in entries],
        }
    }


def capture(folder: Path, *entries, **shape) -> CapturedPage:
    path = folder / "made.har"
    path.write_text(json.dumps(har(*entries, **shape)))
    return next(read(path))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http/2+quic/46", "quic"),
        ("h3-29", "quic"),
        ("HTTP/3", "quic"),
        ("h2", "h2"),
        ("HTTP/2.0", "h2"),
        ("spdy/3.1", "spdy"),
        ("HTTP/1.1", "h1"),
        ("1.1", "h1"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_protocols_by_every_name_tools_give_them(written, meant):
    assert family(written) == meant


def test_only_wire_bytes_that_ended_before_the_load_event_count(tmp_path):
    early = entry(wire=100_000)
    late = entry(at_ms=990, took_ms=20, wire=5_000_000)
    row = judge(capture(tmp_path, early, late), Claims(down_mbps=1))
    assert row.wire_bytes == 100_000
    assert row.least_load_ms == pytest.approx(800)
    assert not row.impossible
    assert judge(capture(tmp_path, early, late), Claims(down_mbps=0.79)).impossible


def test_a_capture_without_wire_sizes_is_never_called_impossible(tmp_path):
    row = judge(capture(tmp_path, entry(wire=None)), Claims(down_mbps=0.001))
    assert (row.wire_bytes, row.impossible) == (None, False)


def test_sizes_of_tools_that_write_no_transfer_size(tmp_path):
    plain = entry(wire=None)
    plain["response"] |= {"bodySize": 300, "headersSize": 20}
    assert capture(tmp_path, plain).loaded_bytes() == 320
    assert capture(tmp_path, entry(wire=None, _bytesIn="450")).loaded_bytes() == 450


def test_cached_and_failed_entries_say_nothing_about_the_protocol(tmp_path):
    cached = entry(wire=0, version="h2")
    failed = entry(version="h2", _x=1)
    failed["response"]["status"] = 0
    row = judge(capture(tmp_path, entry(version="h3"), cached, failed), Claims(protocol="quic"))
    assert (row.claimed_share, row.cached, row.failed) == (1.0, 1, 1)
    assert row.findings == ("1 from a cache", "1 failed")


def test_connects_are_fast_only_if_most_of_them_are(tmp_path):
    honest = [entry(timings={"connect": c}) for c in (3.0, 410.0, 420.0)]
    assert not judge(capture(tmp_path, *honest), Claims(rtt_ms=200)).fast_connects
    lying = [entry(timings={"connect": c}) for c in (30.0, 35.0, 410.0)]
    assert judge(capture(tmp_path, *lying), Claims(rtt_ms=200)).fast_connects
    assert not judge(capture(tmp_path, *lying), Claims(rtt_ms=0)).fast_connects


def test_a_capture_without_load_event_is_aborted(tmp_path):
    for load_ms in (None, -1):
        row = judge(capture(tmp_path, entry(), load_ms=load_ms), Claims(down_mbps=1e-6))
        assert row.aborted
        assert not row.impossible


def test_each_page_of_a_file_is_a_separate_capture(tmp_path):
    path = tmp_path / "two.har"
    path.write_text(json.dumps(har(entry(), entry(pageref="p1"), entry(pageref="p1"), pages=2)))
    assert [(c.name, len(c.answers)) for c in read(path)] == [("two#p0", 1), ("two#p1", 2)]


def test_compressed_captures_are_found_and_read_like_plain_ones(tmp_path):
    text = json.dumps(har(entry())).encode()
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.har").write_bytes(text)
    (tmp_path / "deep" / "b.har.gz").write_bytes(gzip.compress(text))
    (tmp_path / "c.har.zst").write_bytes(zstd.compress(text))
    captures = [c for p in find([tmp_path]) for c in read(p)]
    assert sorted(c.name for c in captures) == ["a", "b", "c"]
    assert len({c.answers for c in captures}) == 1


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"log": {"pages": []}}', b"\xff\xfe", b"[1]", b"[" * 100_000]
)
def test_what_is_no_har_is_refused_by_name(tmp_path, text):
    path = tmp_path / "bad.har"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"bad\.har"):
        list(read(path))
    path.with_suffix(".har.gz").write_bytes(text)
    with pytest.raises(InputError, match=r"bad\.har\.gz"):
        list(read(path.with_suffix(".har.gz")))


@given(
    down=st.integers(1, 10_000),
    delay=st.integers(0, 1000),
    loss=st.decimals(0, 1, places=3),
    label=st.sampled_from(["Quic", "Http2", "h1"]),
    subject=st.from_regex(r"[a-z]+(-[a-z]+)?", fullmatch=True),
)
def test_names_made_by_a_pattern_are_read_back(down, delay, loss, label, subject):
    pattern = compile_pattern("{protocol}-{page}-bw{down_mbps}-rtt{delay_ms}-loss{loss}")
    claims = from_name(f"{label}-{subject}-bw{down}-rtt{delay}-loss{loss}", [pattern])
    assert claims
    assert (claims.down_mbps, claims.rtt_ms, claims.loss) == (down, 2 * delay, float(loss))
    assert claims.protocol == {"Quic": "quic", "Http2": "h2", "h1": "h1"}[label]


@pytest.mark.parametrize("pattern", ["{speed}", "{rtt_ms}{rtt_ms}"])
def test_a_pattern_with_unknown_or_repeated_fields_is_refused(pattern):
    with pytest.raises(InputError, match="unknown or repeated"):
        compile_pattern(pattern)


def test_what_captures_say_is_escaped(tmp_path):
    evil = tmp_path / "<script>.har"
    evil.write_text(json.dumps(har(entry())))
    row = judge(next(read(evil)), Claims(down_mbps=1, protocol="quic", rtt_ms=100))
    html = page("<script>", summarise([row]), [row])
    ours = html.partition("<script>// vega ")[0]
    assert "<script>" not in ours
    assert "&lt;script&gt;" in ours
    assert "\\u003cscript\\u003e" in ours


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"],
        ["FOLDER"],
        ["FILE", "--down", "fast"],
        ["FILE", "--protocol", "h9"],
        ["FILE", "--claims-from-names", "{page}-{rtt_ms}"],
        ["FILE", "--claims-from-names", "{page}-{rtt_ms}", "--down", "1mbit"],
    ],
)
def test_wrong_input_names_the_fix(tmp_path, arguments):
    file = tmp_path / "a.har"
    file.write_text(json.dumps(har(entry())))
    (tmp_path / "empty").mkdir()
    words = [{"FILE": str(file), "FOLDER": str(tmp_path / "empty")}.get(a, a) for a in arguments]
    assert isinstance(CliRunner().invoke(app, ["audit", *words]).exception, InputError)


def test_published_captures_are_found_out(tmp_path):
    """ranjan2019: the shaper was not in the path, and "QUIC" was mostly HTTP/2."""
    for name, capture in json.loads(gzip.decompress(PUBLISHED.read_bytes())).items():
        (tmp_path / name).write_text(json.dumps(capture))
    done = CliRunner().invoke(app, ["audit", str(tmp_path), "--json"], standalone_mode=False)
    found = json.loads(done.stdout)
    assert len(found["rows"]) == found["captures"] == found["judged_for_rate"] == 64
    assert found["impossible"] == 45
    assert (found["quic_labelled"], found["pure_quic"], found["no_quic"]) == (32, 0, 9)
    assert found["quic_share"] == pytest.approx(402 / 1257)
    assert found["fast_connects"] == found["judged_for_delay"] == 32
    assert [round(c["connect_ms"], 1) for c in found["connects"]] == [37.8, 34.5]
