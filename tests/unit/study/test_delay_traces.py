"""Recorded delays in the forms that people have, and what is said of files that make no sense."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.model.errors import InputError
from dragstrip.study.networks import read_network
from dragstrip.study.presets import find_network
from dragstrip.study.tracefiles.delays import read_delays

RATTAN = {
    "RepeatedDelayPatternConfig": {
        "pattern": [
            {"StaticDelayConfig": {"delay": "10ms", "duration": "1s 500ms"}},
            {"StaticDelayConfig": {"delay": {"secs": 0, "nanos": 20_000_000}, "duration": "2s"}},
        ],
        "count": 2,
    }
}
STARLINK_DISH = (
    "datetimestamp_utc,pop_ping_latency_ms,downlink_throughput_bps\n"
    "2024-01-01T00:00:00,30,1\n2024-01-01T00:00:01,44,1\n2024-01-01T00:00:02,,1\n"
)
FORMS = {
    "seconds and ms": (
        "# made\n0 20\n1.5 50.5  # a handover\r\n3 0\n",
        "",
        ((0, 20), (1.5, 50.5), (3, 0)),
    ),
    "leoreplayer": ("24\n18\n", "", ((0, 24), (0.01, 18), (0.02, 0))),
    "leoreplayer, slower": ("24\r\n18\r\n", "?interval=1s", ((0, 24), (1, 18), (2, 0))),
    "one line": ("24", "", ((0, 24), (0.01, 0))),
    "cellreplay": ("0 21 0 0 1 2\n200 25 0 1\n", "", ((0, 21), (0.2, 25), (0.4, 0))),
    "rattan": (json.dumps(RATTAN), "", ((0, 10), (1.5, 20), (3.5, 10), (5, 20), (7, 0))),
    "ping -D": (
        "PING a (192.0.2.1) 56(84) bytes of data.\n"
        "[1700000000.5] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=40 ms\n"
        "[1700000001.5] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=50.4 ms\n\n"
        "--- a ping statistics ---\n2 packets transmitted, 2 received\n",
        "",
        ((0, 20), (1, 25.2), (2, 0)),
    ),
    "ping, with a loss": (
        "64 bytes from b: icmp_seq=1 ttl=57 time=40 ms\n"
        "64 bytes from b: icmp_seq=3 ttl=57 time=50 ms\n",
        "?interval=200ms",
        ((0, 20), (0.4, 25), (0.8, 0)),
    ),
    "starlink dish": (
        STARLINK_DISH,
        "",
        ((0, 15), (1, 22), (2, 0)),
    ),
    "one way, by direction": (
        "time_s;owd_up_ms;owd_down_ms\n0;31,5;20\n1;33;21\n",
        "",
        ((0, 20), (1, 21), (2, 0)),
    ),
    "a column by name": (
        "time_s,a,b\n0,9,1\n1,9,2\n",
        "?delay=b,unit=ms,of=one-way",
        ((0, 1), (1, 2), (2, 0)),
    ),
    "utf-16": ("0 20\n1 0\n".encode("utf-16"), "", ((0, 20), (1, 0))),
}


def write(folder, text: str | bytes, name: str = "delay.txt"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read(form, tmp_path):
    text, options, steps = FORMS[form]
    read = read_delays(f"delay.txt{options}", write(tmp_path, text), "down")
    assert [at for at, _ in read.trace.steps] == pytest.approx([at for at, _ in steps])
    assert [ms for _, ms in read.trace.steps[:-1]] == [ms for _, ms in steps[:-1]]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", "", "it has no lines"),
        ("# nothing\n\n", "", "it has no lines"),
        ("0 20\n", "", "line 1: it has one line"),
        ("0 20\n2 30\n1 0\n", "", "line 3: goes back in time; sort the lines"),
        ("0 20\n1 30\n1 0\n", "", "line 3: has the time of the line above"),
        ("1 20\n2 0\n", "", "line 1: begins at 1 s; begin at 0"),
        ("0 20\n1 -3\n2 0\n", "", "line 2: a delay of -3 ms"),
        ("0 20\n1 nan\n2 0\n", "", "line 2: 'nan' is no delay"),
        ("0 20\n-1 3\n", "", "line 2: '-1' is no time"),
        ("0 20\nx 3\n", "", "line 2: 'x' is no time"),
        ("0 20\n1 1e99\n2 0\n", "", r"line 2: a delay of 1e\+99 ms"),
        ("0 20\n1e30 3\n", "", "line 2: '1e30' is no time"),
        ("24\n18 3\n", "", "line 2: has 2 numbers, and the first line has 1"),
        ("0 20\n7\n", "", "line 2: has one number, and the first line has 2"),
        ("24\n-1\n", "", "line 2: a delay of -1 ms"),
        ("24\n", "?interval=0s", "interval=0"),
        ("0 20\n1 0\n", "?interval=1s", "leave it out"),
        ("0 20\n1 0\n", "?rate=1", "rate is no option; use interval"),
        ("time,a\n0,1\n", "", r"no name tells which column is the delay.*\?delay=NAME"),
        ("time,latency\n0,1\n", "", r"no name tells the unit of 'latency'.*\?unit=ms"),
        ("time,latency_ms\n0,1\n", "", r"may be one way or a round trip.*\?of=round-trip"),
        ("time,rtt_ms\n0,-4\n", "", "line 2: a delay of -2 ms"),
        ("time,rtt_ms\n0,x\n", "", "no row has a time and a number in 'rtt_ms'"),
        ("time,rtt_ms,ping_ms\n0,1,2\n", "", "several columns may be the delay"),
        ('{"StaticBwConfig": {}}', "", "only StaticDelayConfig and RepeatedDelayPatternConfig"),
        ('{"StaticDelayConfig": {"delay": "10"}}', "", "StaticDelayConfig.delay is no time"),
        ('{"StaticDelayConfig": {"delay": "1ms", "duration": "0s"}}', "", "duration is 0"),
        (b"\xff\x00\xfe", "", "is not text"),
    ],
)
def test_a_file_without_sense_is_refused_by_name_and_line(text, options, said, tmp_path):
    with pytest.raises(InputError, match=said) as caught:
        read_delays(f"delay.txt{options}", write(tmp_path, text), "down")
    assert "delay.txt" in str(caught.value)


@given(text=st.text(alphabet='0123456789. -#\n\r\tne,;[]{}"tims', max_size=80))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(text, tmp_path):
    said = "delay.txt"
    try:
        read_delays("delay.txt", write(tmp_path, text), "up")
    except InputError as error:
        said = str(error)
    assert "delay.txt" in said


def test_rates_and_delays_play_together(tmp_path):
    write(tmp_path, "5\n10\n", "bw_1.txt")
    write(tmp_path, "24\n18\n", "delay_1.txt")
    both = find_network(f"trace:{tmp_path / 'bw_1.txt'}?delay=delay_1.txt,queue=200ms,up=50%")
    for direction in (both.down, both.up):
        assert direction.delay_trace.steps == ((0, 24), (0.01, 18), (0.02, 0))
    assert both.down.trace.opportunities_ms == (5, 10)
    assert both.up.trace.opportunities_ms == (10,)
    assert "delay from delay_1.txt (one delay for each 10 ms)" in both.source
    assert "18 to 24 ms, 21 on average (delay trace delay_1.txt" in both.describe()
    assert both.rtt_ms == 42


def test_a_log_may_have_rates_and_delays(tmp_path):
    log = STARLINK_DISH.replace(",1\n", ",5000000\n")
    write(tmp_path, log, "dish.csv")
    both = find_network(f"trace:{tmp_path / 'dish.csv'}?delay=pop_ping_latency_ms")
    assert both.down.delay_trace.most_ms == 22
    assert both.down.trace.steps[0] == (0, 5)


def test_a_study_names_a_delay_trace_by_its_file(tmp_path):
    write(tmp_path, "0 20\n1 50\n2 0\n")
    table = {"down": {"rate_mbps": 5, "delay_trace": "delay.txt"}, "up": {"delay_ms": 4}}
    network = read_network("x", table, tmp_path)
    assert network.down.delay_trace.most_ms == 50
    assert network.least_rtt_ms == 24
    with pytest.raises(InputError, match=r"down\.delay_trace: trace .*none\.txt: no such file"):
        read_network("x", {"down": {"delay_trace": "none.txt"}, "up": {}}, tmp_path)
    with pytest.raises(InputError, match="delay_trace and jitter_ms cannot be combined"):
        read_network("x", {**table, "down": {"delay_trace": "delay.txt", "jitter_ms": 1}}, tmp_path)


def test_network_show_draws_delays(tmp_path):
    write(tmp_path, "5\n10\n", "bw.txt")
    write(tmp_path, "0 20\n1 50\n2 0\n")
    done = CliRunner().invoke(
        app, ["network", "show", f"trace:{tmp_path / 'bw.txt'}?delay=delay.txt"]
    )
    assert done.exit_code == 0, done.output
    assert "delay down and up: 2 s, then again" in done.output
    assert "50 ms" in done.output
    assert "least 20, mean 35, most 50 ms" in done.output


def test_a_delay_that_is_neither_a_time_nor_a_file_nor_a_column_is_refused(tmp_path):
    write(tmp_path, "time,mbps\n0,1\n1,2\n", "bw.csv")
    with pytest.raises(InputError, match=r"delay=none\.txt is none of the columns"):
        find_network(f"trace:{tmp_path / 'bw.csv'}?delay=none.txt,unit=Mbit/s")
    with pytest.raises(InputError, match="is not a duration"):
        find_network(f"trace:{tmp_path / 'bw.csv'}?delay=20,unit=Mbit/s")
