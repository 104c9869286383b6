"""Recorded rates in the forms that people have, and what is said where a form leaves a choice."""

import csv
import io
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.cli.machine.link_options import changed
from dragstrip.model.errors import InputError
from dragstrip.study.networks import read_network
from dragstrip.study.presets import find_network
from dragstrip.study.tracefiles.columns import unit_in
from dragstrip.study.tracefiles.files import read_played, split
from dragstrip.study.tracefiles.network import traced

GNETTRACK = "Timestamp,Longitude,Speed,NetworkMode,RSRP,SNR,DL_bitrate,UL_bitrate,State,PINGAVG\n"


def network(folder, text: str | bytes, options: str = "", name: str = "log.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return find_network(f"trace:{folder / name}{options}")


LOGS = {
    "irish 4G and 5G": (
        GNETTRACK
        + "2019.12.16_13.40.04,-8.4,0,5G,-99,4,1200,90,D,-\n"
        + "2019.12.16_13.40.05,-8.4,0,5G,-99,-,2400,100,D,-\n",
        "",
        ((0, 1.2), (1, 2.4), (2, 0)),
        ((0, 0.09), (1, 0.1), (2, 0)),
    ),
    "ghent 4G": (
        "1453121790686 39287 51.03 3.73 2493100 1000\n1453121791687 40288 51.03 3.73 250250 1001\n",
        "",
        ((0, 19.9448), (1, 2), (2.001, 0)),
        None,
    ),
    "norway 3G": (
        "1289406399 549692 59.85 10.78 126000 1008\n1289406400 550772 59.85 10.78 135000 1080\n",
        "",
        ((0, 1), (1.008, 1), (2.088, 0)),
        None,
    ),
    "fcc": (
        "unit_id,dtime,target,fetch_time,bytes_total,bytes_sec,bytes_sec_interval,warmup_bytes\n"
        "386,2016-06-01 00:00:05,x,1,2,250000,9,9\n386,2016-06-01 00:00:10,x,1,2,350000,9,9\n",
        "",
        ((0, 2), (5, 2.8), (10, 0)),
        None,
    ),
    "starlink dish": (
        "datetimestamp_utc,pop_ping_latency_ms,downlink_throughput_bps,uplink_throughput_bps\n"
        "2024-01-01T00:00:00,30,1000000.5,20000\n2024-01-01T00:00:01,30,0,20000\n",
        "",
        ((0, 1.0000005), (1, 0), (2, 0)),
        ((0, 0.02), (1, 0.02), (2, 0)),
    ),
    "5G, unit given": (
        "time,throughput,speed\n2023-01-01 10:00:00,12.5,60\n2023-01-01 10:00:01,14,60\n",
        "?unit=Mbit/s",
        ((0, 12.5), (1, 14), (2, 0)),
        None,
    ),
    "no times": (
        "seq_num,movingSpeed,Throughput\n1,3,800\n2,3,900\n",
        "?unit=Mbps&interval=500ms",
        ((0, 800), (0.5, 900), (1, 0)),
        None,
    ),
    "spreadsheet": (
        "\ufeffsep=;\nTime (s);Download (Mbit/s);Upload (Mbit/s)\n0;12,5;1,2\n1;13,5;1,3\n",
        "",
        ((0, 12.5), (1, 13.5), (2, 0)),
        ((0, 1.2), (1, 1.3), (2, 0)),
    ),
    "bytes in each interval": (
        "t_s,dl_bytes,ul_bytes\n1,125000,12500\n2,250000,25000\n",
        "",
        ((0, 1), (1, 2), (2, 0)),
        ((0, 0.1), (1, 0.2), (2, 0)),
    ),
    "commented header": (
        "# made by a script\n# ms,kbps\n0,3000\n500,4000\n",
        "?time=ms",
        ((0, 3), (0.5, 4), (1, 0)),
        None,
    ),
    "date and time, over midnight": (
        "Date,Time,DL (Mbps)\n01.02.2023,23:59:59,1\n02.02.2023,00:00:01,2\n",
        "",
        ((0, 1), (2, 2), (4, 0)),
        None,
    ),
    "two columns": ("0,4500\n1,5500\n", "?unit=kbit/s", ((0, 4.5), (1, 5.5), (2, 0)), None),
    "sabre": (
        '[{"duration_ms": 1000, "bandwidth_kbps": 1500}, {"duration_ms": 2000, '
        '"bandwidth_kbps": 3000, "latency_ms": 9}]',
        "",
        ((0, 1.5), (1, 3), (3, 0)),
        None,
    ),
    "iperf3": (
        '{"start": {}, "intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 1e6}},'
        ' {"sum": {"start": 1, "end": 2, "bits_per_second": 2e6}}]}',
        "",
        ((0, 1), (1, 2), (2, 0)),
        None,
    ),
    "lists": ('{"time": [0, 1], "mbps": [3, 4], "note": [1]}', "", ((0, 3), (1, 4), (2, 0)), None),
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_are_read_by_the_names_of_their_columns(tmp_path, name):
    text, options, down, up = LOGS[name]
    made = network(tmp_path, text, options)
    for trace, steps in ((made.down.trace, down), (made.up.trace, up or down)):
        assert [at for at, _ in trace.steps] == pytest.approx([at for at, _ in steps])
        assert [rate for _, rate in trace.steps] == pytest.approx([rate for _, rate in steps])
    assert ("both directions play it" in made.source) == (up is None)


@pytest.mark.parametrize(
    ("name", "mbit", "per_second"),
    [
        ("DL (kbps)", 1e-3, True),
        ("Download [Mbit/s]", 1, True),
        ("mbps", 1, True),
        ("throughput_MBps", 8, True),
        ("MB/s", 8, True),
        ("KB/s", 8e-3, True),
        ("bits_per_second", 1e-6, True),
        ("bytes_sec", 8e-6, True),
        ("downlinkThroughputBps", 8e-6, True),
        ("rx_bytes", 8e-6, False),
        ("size (KB)", 8e-3, False),
        ("kilobits per second", 1e-3, True),
        ("goodput_MB_per_s", 8, True),
    ],
)
def test_names_tell_units(name, mbit, per_second):
    unit = unit_in(name)
    assert unit
    assert (unit.mbit, unit.per_second) == (pytest.approx(mbit), per_second)


@pytest.mark.parametrize("name", ["MBPS", "throughput", "band_b", "Speed", "m", "rsrp_db"])
def test_names_that_leave_the_unit_open_are_not_guessed(name):
    assert unit_in(name) is None


def test_rows_out_of_order_gaps_outages_and_holes_are_told(tmp_path):
    rows = "time_s,mbps\n0,3\n2,0\n1,4\n3,-\n3,2\n4,2\n4,4\n60,1\n"
    made = network(tmp_path, rows)
    assert made.down.trace.steps == ((0, 3), (1, 4), (2, 0), (3, 2), (4, 3), (60, 1), (61, 0))
    for said in ("1 of 8 rows left out", "sorted by time", "gaps: 1, the longest 56 s", "joined"):
        assert said in made.source


def test_bytes_that_never_fall_are_a_counter(tmp_path):
    rows = "".join(f"{i},{i * i * 125_000}\n" for i in range(12))
    made = network(tmp_path, "time,rx_bytes\n" + rows)
    assert [rate for _, rate in made.down.trace.steps] == [*(2 * i + 1 for i in range(11)), 0]
    assert "counter" in made.source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,throughput\n0,1\n1,2\n", "no name tells the unit of 'throughput'"),
        ("time,throughput\n0,1\n1,2\n", "?unit=kbit/s"),
        ("time,downlink,uplink\n0,1,1\n", "no name tells the unit of 'downlink'"),
        ("time,MBPS\n0,1\n1,2\n", "no name tells the unit of 'MBPS'"),
        ("time,foo\n0,1\n", "which column is the rate (time, foo)"),
        ("Zeit,mbps\n0,1\n", "which column is the time"),
        ("time,mbps\n0,1\n30,2\n", "'time' may be in s or in ms"),
        ("time,a_mbps,b_mbps\n0,1,1\n", "several columns may be down (a_mbps, b_mbps)"),
        ("1,2,3\n4,5,6\n", "its 3 columns have no header"),
        ("time,mbps\n0,x\n", "line 2: no row has a time and a number in 'mbps'"),
        ("time,mbps\n0,0\n1,0\n", "one must reach 0.001"),
        ("", "has no lines"),
        ("[]", "no list of records"),
        ("[" * 100_000, "nested too deep"),
        (b"\x80", "is not text"),
    ],
)
def test_what_a_log_leaves_open_is_one_question(tmp_path, text, said):
    with pytest.raises(InputError) as error:
        network(tmp_path, text)
    assert said in str(error.value)
    assert str(tmp_path / "log.csv") in str(error.value)


def test_options_that_do_not_exist_are_named(tmp_path):
    with pytest.raises(InputError, match="foo is no option; use unit, time"):
        network(tmp_path, "time,mbps\n0,1\n", "?foo=1")
    with pytest.raises(InputError, match=r"down=x is none of the columns \(time, mbps\)"):
        network(tmp_path, "time,mbps\n0,1\n", "?down=x")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_traces_with_a_byte_order_mark_are_read(tmp_path, coding):
    assert network(tmp_path, "0 4\n1 0\n".encode(coding)).down.trace.mean_mbps == 4


def test_only_plain_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a plain file"):
        find_network(f"trace:{tmp_path / 'pipe'}")
    with pytest.raises(InputError, match="no such file"):
        find_network("trace:nowhere.csv")


def test_a_trace_says_its_rates_and_options_the_rest(tmp_path):
    (tmp_path / "up.txt").write_text("7\n9\n")
    made = network(tmp_path, "5\n10\n", "?delay=20ms,loss=1%,queue=200ms,up=up.txt")
    assert made.down.trace.opportunities_ms == (5, 10)
    assert made.up.trace.opportunities_ms == (7, 9)
    assert (made.rtt_ms, made.up.loss, made.down.queue_ms) == (40, 0.01, 200)
    assert made.name == "trace:log.csv?delay=20ms,loss=1%,queue=200ms,up=up.txt"
    limited = network(tmp_path, "time,mbps\n0,1\n", "?up=2mbit")
    assert (limited.up.rate_mbps, limited.up.trace) == (2, None)


def test_a_network_plays_a_trace_instead_of_its_rates(tmp_path):
    (tmp_path / "t.txt").write_text("0 4\n1 0\n")
    made = traced(find_network("LTE"), str(tmp_path / "t.txt"))
    assert (made.down.rate_mbps, made.down.trace.mean_mbps) == (None, 4)
    assert (made.rtt_ms, made.down.queue_ms) == (74, 200)
    slower = changed(made, rate={"up": "1mbit"})
    assert (slower.up.rate_mbps, slower.up.trace, slower.down.trace.mean_mbps) == (1, None, 4)


def test_directions_of_a_study_take_their_own_column(tmp_path):
    (tmp_path / "log.csv").write_text("time,dl,ul\n0,4,1\n1,4,1\n")
    spec = {"trace": "log.csv?unit=Mbit/s,down=dl,up=ul"}
    made = read_network("n", {"down": spec, "up": spec}, tmp_path)
    assert (made.down.trace.mean_mbps, made.up.trace.mean_mbps) == (4, 1)


def test_a_file_may_have_the_mark_in_its_name(tmp_path):
    odd = tmp_path / "a?b=c"
    odd.write_text("5\n")
    assert split(str(odd)) == (str(odd), {})
    assert split(f"{odd}?unit=B") == (str(odd), {"unit": "B"})


def test_show_draws_each_trace(tmp_path):
    network(tmp_path, "time,mbps\n0,0\n1,4\n2,2\n")
    done = CliRunner().invoke(app, ["network", "show", f"trace:{tmp_path / 'log.csv'}"])
    assert "down and up: 3 s, then again" in done.stdout
    assert "4 Mbit/s" in done.stdout
    assert "least 0, mean 2, most 4 Mbit/s; nothing passes for 1 s" in done.stdout
    plain = CliRunner().invoke(app, ["network", "show", "LTE", "--json"])
    assert json.loads(plain.stdout)["name"] == "LTE"


numbers = st.floats(0, 1e5) | st.integers(-5, 10**7) | st.sampled_from(["", "-", "nan", "x"])
header = st.lists(
    st.sampled_from(
        ["time", "time_ms", "date", "mbps", "dl kbps", "ul_bytes", "duration", "x", "MB/s"]
    ),
    max_size=5,
)
rows = st.lists(st.lists(numbers, max_size=5), max_size=8)


def as_csv(names, lines) -> str:
    made = io.StringIO()
    csv.writer(made).writerows([names, *lines])
    return made.getvalue()


json_like = st.recursive(
    st.none() | st.booleans() | numbers,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["time", "mbps", "intervals", "sum", "x"]), inner, max_size=4
        )
    ),
)


@given(st.text(max_size=60) | st.builds(as_csv, header, rows) | st.builds(json.dumps, json_like))
@settings(
    max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_no_text_is_a_traceback(tmp_path, text):
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        played = read_played(path)
    except InputError as error:
        said = str(error)
        found = str(path) in said
    else:
        found = played.down.mean_mbps > 0
    assert found
