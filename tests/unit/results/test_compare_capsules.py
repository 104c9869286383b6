"""Two capsules against each other: pairing, censored loads, notes, gates and their exit codes."""

import json

import pytest
from msgspec import structs

from dragstrip.cli import app, exits
from dragstrip.model.errors import InputError
from dragstrip.model.visit import Reason
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.capsules import (
    CapsuleComparison,
    CapsuleDifference,
    compare_capsules,
)
from dragstrip.results.compare.gate import gate, parse
from made_capsule import START, capsule, study

STEADY = [1000.0, 1040, 980, 1010, 1025, 990, 1005, 1015]


def slowed(factor: float) -> list[float]:
    wobble = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.01, 0.99)
    return [t * factor * w for t, w in zip(STEADY, wobble, strict=True)]


def both(h2: list[float | None], h3: list[float | None] | None = None) -> dict:
    return {"h2": h2, "h3": h3 or h2}


def row(found: CapsuleComparison, stack: str, metric: str = "plt_ms") -> CapsuleDifference:
    (one,) = (
        r.difference
        for r in found.rows
        if (r.difference.stack, r.difference.metric) == (stack, metric)
    )
    return one


def test_shared_seeds_pair_the_blocks(tmp_path):
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(slowed(1.1)))
    found = row(compare_capsules(a, b), "h3")
    assert (found.cell, found.pairing, found.estimator) == ("made|LTE", "paired", "ranks")
    assert (found.n_a, found.n_b) == (8, 8)
    assert found.ratio == pytest.approx(1.1, abs=0.005)
    assert 1.08 < found.low < found.high < 1.12


def test_other_seeds_leave_two_samples(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both(slowed(1.1)[:5]), first_seed=100)
    found = row(compare_capsules(a, b), "h2")
    assert (found.pairing, found.n_a, found.n_b) == ("unpaired", 5, 5)
    assert found.low < 1.1 < found.high


def test_where_only_some_seeds_are_shared_only_those_pair(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both(STEADY), first_seed=5)  # seeds 5, 6 and 7 are in both
    found = row(compare_capsules(a, b), "h2")
    assert (found.pairing, found.n_a, found.n_b) == ("paired", 3, 3)


def test_a_timeout_counts_by_rank_and_is_named(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both([*slowed(1.1)[:-1], None]))
    found = row(compare_capsules(a, b), "h2")
    assert (found.estimator, found.censored_a, found.censored_b) == ("ranks", 0, 1)
    assert found.ratio == pytest.approx(1.1, abs=0.02)
    assert found.low > 1.05


def test_where_most_loads_fail_the_interval_has_no_upper_end(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both([*slowed(1.1)[:3], None, None, None, None, None]))
    found = row(compare_capsules(a, b), "h2")
    assert (found.ratio, found.high) == (float("inf"), float("inf"))
    assert found.low == pytest.approx(1.1, abs=0.02)


def test_nothing_shared_is_wrong_input(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    renamed = study(networks=(structs.replace(study().networks[0], name="DSL"),))
    b = capsule(tmp_path / "b", both([]), of=renamed)
    with pytest.raises(InputError, match="share no stack"):
        compare_capsules(a, b)


def test_notes_say_what_a_name_stands_for_and_what_else_differs(tmp_path):
    base = study()
    page = structs.replace(base.pages[0], digest="1" * 12)
    stack = structs.replace(base.stacks[1], initial_window_packets=32)
    other = study(pages=(page,))
    other = structs.replace(other, stacks=(base.stacks[0], stack))
    newer = structs.replace(START, browser_version="Chromium 157.0")
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both(STEADY), of=other, hour=1, start=newer)
    said = "\n".join(compare_capsules(a, b).notes)
    for part in (
        "page made differs",
        "stack h3 differs",
        "initial window 32",
        "The browser differs: A has Chromium 156.0; B has Chromium 157.0.",
        "do not alternate",
    ):
        assert part in said
    assert "network" not in said
    assert compare_capsules(a, a).notes == []


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, "passed"), (1.035, "passed"), (1.05, "not decided"), (1.07, "failed"), (0.8, "passed")],
)
def test_the_gate_needs_the_interval_on_its_side(tmp_path, factor, verdict):
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(slowed(factor)))
    found = gate([parse("slower > 5%")], compare_capsules(a, b).rows)
    assert {g.verdict for g in found} == {verdict}


@pytest.mark.parametrize(("nearer", "verdict"), [(1.001, "not decided"), (0.999, "failed")])
def test_a_gate_alone_fails_exactly_beyond_the_interval(tmp_path, nearer, verdict):
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(slowed(1.1)))
    (one, *_) = compare_capsules(a, b).rows
    percent = (one.difference.low * nearer - 1) * 100
    assert gate([parse(f"slower > {percent:.9f}%")], [one])[0].verdict == verdict


def test_a_noisy_capsule_fails_nothing(tmp_path):
    wild = [1300.0, 900, 1500, 1000, 1250, 980, 1600, 1100]
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(wild))
    assert {g.verdict for g in gate([parse("slower > 5%")], compare_capsules(a, b).rows)} == {
        "not decided"
    }


def test_many_cells_are_corrected_for(tmp_path):
    """An interval just beyond the threshold fails alone, and not among twenty conditions."""
    a = capsule(tmp_path / "a", both(STEADY))
    b = capsule(tmp_path / "b", both(slowed(1.061), STEADY))
    rows = compare_capsules(a, b).rows
    alone = [r for r in rows if r.difference.stack == "h2"]
    assert row(compare_capsules(a, b), "h2").low > 1.05
    assert gate([parse("slower > 5%")], alone)[0].verdict == "failed"
    among = gate([parse("slower > 5%")] * 20, alone)
    assert {g.verdict for g in among} == {"not decided"}


def test_too_few_loads_to_fail_say_how_many_are_wanted(tmp_path, capfd):
    capsule(tmp_path / "a", both(STEADY[:5]))
    capsule(tmp_path / "b", both(slowed(1.2)[:5]))
    arguments = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--fail-if", "slower > 5%"]
    assert app(arguments, standalone_mode=False) == exits.DONE
    err = capfd.readouterr().err
    assert "5 loads per side are too few for any of 2 conditions to fail; make at least 6" in err


def test_faster_is_measured_as_the_report_does(tmp_path):
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(slowed(0.9)))
    rows = compare_capsules(a, b).rows
    assert {g.verdict for g in gate([parse("faster > 5%")], rows)} == {"failed"}
    assert {g.verdict for g in gate([parse("faster > 15%")], rows)} == {"passed"}


def with_tail(slow: float, n: int = 120) -> list[float]:
    """Loads of about a second, of which every eighth is `slow` times as long."""
    return [1000.0 * (1 + 0.01 * ((i * 7) % 5 - 2)) * (slow if i % 8 == 0 else 1) for i in range(n)]


def test_a_wider_tail_fails_a_gate_of_the_95th_percentile_only(tmp_path):
    a = capsule(tmp_path / "a", both(with_tail(1.1)))
    b = capsule(tmp_path / "b", both(with_tail(1.5)))
    rows = compare_capsules(a, b, spread_of=["plt_ms"]).rows
    assert {g.verdict for g in gate([parse("slower > 15%")], rows)} == {"passed"}
    assert {g.verdict for g in gate([parse("p95 slower > 15%")], rows)} == {"failed"}
    assert {g.verdict for g in gate([parse("p95 slower > 60%")], rows)} == {"passed"}


def test_spread_of_few_loads_decides_nothing(tmp_path):
    a, b = capsule(tmp_path / "a", both(STEADY)), capsule(tmp_path / "b", both(slowed(2)))
    rows = compare_capsules(a, b, spread_of=["plt_ms"]).rows
    for text in ("p95 slower > 10%", "iqr higher > 10%"):
        assert {g.verdict for g in gate([parse(text)], rows)} == {"not decided"}


def test_spread_is_compared_only_where_it_is_asked_for(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    with pytest.raises(InputError, match="p95"):
        gate([parse("p95 slower > 10%")], compare_capsules(a, a).rows)


@pytest.mark.parametrize(
    ("text", "statistic", "metric"),
    [
        ("p95 slower > 10%", "p95", "plt_ms"),
        ("iqr ttfb higher > 20 %", "iqr", "ttfb_ms"),
        ("ttfb slower > 5%", "median", "ttfb_ms"),
    ],
)
def test_conditions_on_spread(text, statistic, metric):
    found = parse(text)
    assert (found.statistic, found.metric) == (statistic, metric)


@pytest.mark.parametrize(
    ("text", "metric", "ratio"),
    [
        ("slower > 5%", "plt_ms", 1.05),
        ("slower>5%", "plt_ms", 1.05),
        (" ttfb  slower > 12.5 % ", "ttfb_ms", 1.125),
        ("fcp faster > 10%", "fcp_ms", 0.9),
        ("fcp_ms faster > 10%", "fcp_ms", 0.9),
        ("down_bytes higher > 3%", "down_bytes", 1.03),
        ("goodput_mbps lower > 3%", "goodput_mbps", 0.97),
    ],
)
def test_the_grammar_of_conditions(text, metric, ratio):
    found = parse(text)
    assert (found.metric, found.ratio) == (metric, pytest.approx(ratio))


@pytest.mark.parametrize("text", ["slowr > 5%", "slower > 5", "slower < 5%", "slower", "", "5%"])
def test_what_is_no_condition_is_answered_with_an_example(text):
    with pytest.raises(InputError, match=r"write it like 'slower > 5%'"):
        parse(text)


def test_an_unknown_metric_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"no metric 'lcd'; choose from plt, dcl, ttfb, fcp, lcp"):
        parse("lcd slower > 5%")


def test_a_condition_without_a_metric_means_the_one_that_is_compared():
    assert parse("slower > 5%", "fcp_ms").metric == "fcp_ms"
    assert parse("plt slower > 5%", "fcp_ms").metric == "plt_ms"


def test_any_metric_can_be_compared_and_gated(tmp_path, capfd):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    capsule(tmp_path / "a", both(STEADY))
    capsule(tmp_path / "b", both(slowed(1.2)))
    gated = ["--metric", "goodput_mbps", "--fail-if", "lower > 5%"]
    assert app(["compare", a, b, *gated], standalone_mode=False) == exits.FAILED_CONDITION
    err = capfd.readouterr().err
    assert "goodput_mbps" in err
    assert "plt" not in err


def test_a_metric_no_visit_has_cannot_be_gated(tmp_path):
    a = capsule(tmp_path / "a", both(STEADY))
    with pytest.raises(InputError, match="no visit of these capsules has a fcp"):
        gate([parse("fcp slower > 5%")], compare_capsules(a, a).rows)


def test_exit_codes_and_json(tmp_path, capfd):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    capsule(tmp_path / "a", both(STEADY))
    capsule(tmp_path / "b", both(slowed(1.2)))
    gated = ["--fail-if", "slower > 5%", "--json"]
    assert app(["compare", a, b, *gated], standalone_mode=False) == exits.FAILED_CONDITION
    out, err = capfd.readouterr()
    said = json.loads(out)
    assert [c["verdict"] for c in said["conditions"]] == ["failed", "failed"]
    assert {d["metric"] for d in said["differences"]} >= {"plt_ms", "ttfb_ms", "down_bytes"}
    assert "fcp_ms" not in {d["metric"] for d in said["differences"]}
    assert "'slower > 5%': failed for h2 on made|LTE" in err
    assert app(["compare", b, a, *gated], standalone_mode=False) == exits.DONE


@pytest.mark.parametrize("spoiled", [0, 1])
def test_a_gate_that_lost_a_sides_blocks_and_cannot_decide_does_not_pass(spoiled, tmp_path, capfd):
    good = capsule(tmp_path / "good", both(STEADY))
    with Capsule.create(tmp_path / "bad", good.manifest) as bad:
        for visit in good.visits():
            broken = visit.stack == "h3" and visit.block.endswith("|3") and spoiled
            reasons = (Reason("mixed", "h3: 0 of 1 requests"),) if broken else ()
            noise = 1.02 if visit.seed % 2 else 0.98
            plt_ms = (visit.plt_ms or 0) * noise
            bad.append(structs.replace(visit, reasons=reasons, plt_ms=plt_ms))
    for order in (("good", "bad"), ("bad", "good")):
        argv = ["compare", *(str(tmp_path / name) for name in order)]
        assert app(argv, standalone_mode=False) == exits.DONE, "no condition, no gate"
        decided = app([*argv, "--fail-if", "down_bytes higher > 5%"], standalone_mode=False)
        assert decided == exits.DONE
        gated = app([*argv, "--fail-if", "slower > 1%"], standalone_mode=False)
        assert gated == (exits.STAYED_INVALID if spoiled else exits.DONE)
        err = capfd.readouterr().err
        assert ("Too many blocks stayed invalid" in err) == bool(spoiled)
    capsule(tmp_path / "slow", both(slowed(1.2)))
    argv = ["compare", str(tmp_path / "bad"), str(tmp_path / "slow"), "--fail-if", "slower > 5%"]
    assert app(argv, standalone_mode=False) == exits.FAILED_CONDITION


def test_two_stacks_of_one_capsule_are_held_against_each_other(tmp_path, capfd):
    both_builds = capsule(tmp_path / "a", both(STEADY, slowed(1.1)))
    found = compare_capsules(both_builds, both_builds, pairs=[("h2", "h3")])
    [one] = {r.difference.stack for r in found.rows}
    assert one == "h3 against h2"
    assert row(found, one).pairing == "paired"
    assert row(found, one).ratio == pytest.approx(1.1, abs=0.005)
    argv = ["compare", str(tmp_path / "a"), "--pair", "h2:h3", "--fail-if", "slower > 5%"]
    assert app(argv, standalone_mode=False) == exits.FAILED_CONDITION
    assert "h3 against h2" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "give two result folders, or one and --pair"),
        (["--pair", "h2"], "write it like old-h2:new-h2"),
        (["--pair", "h2:h9"], "has no stack 'h9'; it has h2, h3"),
    ],
)
def test_a_pair_that_cannot_be_is_wrong_input(tmp_path, words, complaint):
    capsule(tmp_path / "a", both(STEADY))
    with pytest.raises(InputError, match=complaint):
        app(["compare", str(tmp_path / "a"), *words], standalone_mode=False)


def test_where_no_load_ended_there_is_no_ratio(tmp_path, capfd):
    a, b = (capsule(tmp_path / name, both([None, None, None])) for name in "ab")
    found = row(compare_capsules(a, b), "h2")
    assert (found.ratio, found.n_a, found.censored_a) == (None, 3, 3)
    assert app(["compare", str(a.path), str(b.path)], standalone_mode=False) == exits.DONE
    assert "no load ended" in capfd.readouterr().err


def test_pages_that_count_as_loaded_at_other_moments_are_named(tmp_path):
    early = structs.replace(study().pages[0], done="selector:#hero")
    a, b = (
        capsule(tmp_path / "a", both(STEADY)),
        capsule(tmp_path / "b", both(STEADY), of=study(pages=(early,))),
    )
    [said] = [n for n in compare_capsules(a, b).notes if "counts as loaded" in n]
    assert "the load event in A, and at the first sight of #hero in B" in said
