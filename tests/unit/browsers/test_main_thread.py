"""The work of main threads in a trace of Chromium."""

from collections import deque

import pytest

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.main_thread import Task, stop, tasks

ORIGIN_S = 100.0
AT_US = 100_000_000


def named(pid, tid, name):
    return {
        "name": "thread_name",
        "ph": "M",
        "pid": pid,
        "tid": tid,
        "ts": 0,
        "args": {"name": name},
    }


def work(name, start_us, length_us, *, pid=1, tid=1, data=None):
    args = {} if data is None else {"data": data}
    where = {"pid": pid, "tid": tid, "ts": AT_US + start_us, "dur": length_us}
    return {"name": name, "ph": "X", "args": args, **where}


def step(phase, at_us, number):
    where = {"pid": 1, "tid": 1, "ts": AT_US + at_us, "id2": {"local": number}}
    return {"name": "AnimationFrame", "ph": phase, "args": {}, **where}


THREADS = [named(1, 1, "CrRendererMain"), named(1, 2, "Compositor"), named(2, 1, "CrRendererMain")]


def test_work_of_main_threads_counts_from_the_navigation_and_names_what_it_is_about():
    found = tasks(
        [
            *THREADS,
            work("EvaluateScript", 5000, 2000, data={"url": "https://a.test/a.js"}),
            work("ParseHTML", 4000, 4000),
            work("Draw", 4000, 4000, tid=2),
            work("EventDispatch", 9000, 1, data={"type": "load"}),
        ],
        ORIGIN_S,
    )
    assert found == (
        Task("ParseHTML", 4, 8, 0),
        Task("EvaluateScript", 5, 7, 0, "https://a.test/a.js"),
        Task("EventDispatch", 9, 9.001, 0, "load"),
    )


def test_a_page_that_moves_on_has_a_second_thread():
    found = tasks([*THREADS, work("B", 7000, 10, pid=2), work("A", 1000, 10)], ORIGIN_S)
    assert [(task.name, task.thread) for task in found] == [("A", 0), ("B", 1)]


def test_a_frame_lasts_from_its_begin_to_its_end_and_one_without_an_end_is_none():
    steps = [step("b", 1000, "0x1"), step("b", 2000, "0x2"), step("e", 3000, "0x1")]
    found = tasks([*THREADS, *steps], ORIGIN_S)
    assert found == (Task("AnimationFrame", 1, 3, 0, "", frame=True),)


class Recorder:
    """A browser that reports a trace in two parts among other events, and says when it is complete
    unless it is `stuck`."""

    def __init__(self, *, stuck=False):
        self.events = deque([Event("Network.dataReceived", {}, "s")])
        parts = [{"value": [work("A", 0, 1)]}, {"value": [work("B", 2, 1)]}]
        self._comes = [Event("Tracing.dataCollected", part, "") for part in parts]
        if not stuck:
            self._comes += [Event("Page.x", {}, "s"), Event("Tracing.tracingComplete", {}, "")]

    def call(self, method):
        assert method == "Tracing.end"

    def pump(self, _deadline):
        if self._comes:
            self.events.append(self._comes.pop(0))
            return True
        return False


def test_a_trace_is_read_whole_and_other_events_stay():
    recorder = Recorder()
    assert [event["name"] for event in stop(recorder)] == ["A", "B"]
    assert [event.method for event in recorder.events] == ["Network.dataReceived", "Page.x"]


def test_a_trace_that_never_ends_is_an_error():
    with pytest.raises(BrowserError, match="not complete"):
        stop(Recorder(stuck=True))
