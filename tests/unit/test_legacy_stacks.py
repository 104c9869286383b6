"""Stacks of other years: what they claim and refuse, and how a reader learns of their browser."""

import pytest
from msgspec import structs

from dragstrip.browsers.chromium import stack_flags
from dragstrip.browsers.generations import GENERATIONS
from dragstrip.model.browsers import GENERATION, TODAY
from dragstrip.model.stack import differences
from dragstrip.report.browsers import browsers
from dragstrip.study.presets import find_stack, stacks

GQUIC = find_stack("gQUIC")
HOSTS = {"a.test": "10.0.0.1", "b.test": "10.0.0.2"}


def test_every_stack_runs_in_a_browser_that_can_be_driven():
    for stack in stacks().values():
        assert stack.protocol in GENERATIONS[stack.browser].protocols
        assert stack.browser in GENERATION


def test_stacks_of_todays_browser_keep_their_fingerprints():
    """Capsules made before stacks named their browser are continued and compared by these."""
    found = {name: find_stack(name).fingerprint for name in ("h2", "TCP+", "h3", "caddy-h3")}
    assert found == {
        "h2": "561fd00c59bd",
        "TCP+": "80f69cbd4eaa",
        "h3": "aa0f1b7980e0",
        "caddy-h3": "17a55e0b122a",
    }


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"congestion": "bbr"}, "server gquic-origin has congestion = 'cubic' and no other"),
        ({"early_data": False}, "server gquic-origin has early_data = True and no other"),
        ({"browser": TODAY}, "does not speak gquic"),
        ({"protocol": "h3"}, "chromium70 does not speak h3"),
        ({"buffer_bytes": 1}, "buffer_bytes does not exist for gquic"),
    ],
)
def test_what_the_server_or_browser_cannot_do_is_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        structs.replace(GQUIC, **change)


def test_the_tuning_of_gquic_and_its_tcp_is_alike():
    said = {what for what, *_ in differences(GQUIC, find_stack("h2-chromium70"))}
    assert said.isdisjoint({"congestion control", "initial window", "pacing", "browser"})
    assert {"TLS", "server", "priorities"} <= said


def test_gquic_is_forced_for_every_host_and_led_to_its_server():
    forced, led = stack_flags(GQUIC, HOSTS)
    assert forced == "--origin-to-force-quic-on=a.test:443,b.test:443"
    assert "MAP a.test 10.0.0.1:8444" in led
    assert "MAP * ~NOTFOUND" in led


def test_a_reader_learns_which_browser_and_switch_a_figure_has():
    assert browsers([find_stack("h2"), find_stack("h3")]) == ""
    assert browsers([find_stack("h3"), GQUIC, find_stack("h2-chromium70")]) == (
        "Browsers: h3: today's Chromium; gQUIC, h2-chromium70: Chromium 70 of August 2018, with "
        "gQUIC forced for every host, in version Q043 and no other."
    )
