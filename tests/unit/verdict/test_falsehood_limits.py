"""Every reason has its lies. At the limit the verdict accepts them, and just beyond it names
them."""

from collections.abc import Iterable, Iterator
from typing import get_args

import numpy as np
import pytest
from msgspec import structs

import made
from documented import check_table
from dragstrip.browsers.exchanges import ABORTED
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.reasons import REASONS
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.model.visit import LinkReport, ReasonCode, Visit
from dragstrip.report.data.belief import limits
from dragstrip.verdict.clock_checks import agreed, offset_ms
from dragstrip.verdict.link_checks import loss_interval
from dragstrip.verdict.request_checks import aborted
from dragstrip.verdict.study_checks import Losses
from dragstrip.verdict.together import in_study, with_reasons
from falsehoods import FALSEHOODS, TOLD, Scene


def scene(protocol: str) -> Scene:
    return Scene(made.visit(protocol), made.PAGE, made.LTE, made.STACKS[protocol])


@pytest.mark.parametrize(("falsehood", "protocol"), TOLD, ids=str)
def test_a_lie_is_believed_up_to_its_limit_and_named_beyond(falsehood, protocol):
    honest = scene(protocol)
    assert honest.codes() == set()
    assert falsehood.told(honest, False).codes() == set()
    assert falsehood.told(honest, True).codes() == {falsehood.code}


def test_every_reason_has_a_falsehood():
    assert {f.code for f in FALSEHOODS} == set(REASONS) == set(get_args(ReasonCode))


def test_every_reason_is_documented_in_the_words_the_program_uses():
    check_table("explanation/verdict.md", [(f"`{c}`", m.what, m.fix) for c, m in REASONS.items()])


def test_every_limit_is_documented_with_its_default():
    rows = [(f"`{one.name}`", f"{one.default:g}", one.meaning) for one in limits(DEFAULTS)]
    check_table("reference/thresholds.md", rows)


@pytest.mark.parametrize(
    ("wait_ms", "outside_s", "said"),
    [
        (200.0, None, set()),
        (299.0, None, {"overloaded"}),  # older evidence does not say who ran
        (39.0, 0.4, set()),
        (41.0, 0.4, {"overloaded"}),
        (299.0, 0.041, {"overloaded"}),
        (299.0, 0.039, set()),  # the browser's threads waited for each other
    ],
)
@pytest.mark.parametrize("who", ["browser", "server"])
def test_a_client_that_starves_in_a_short_load_is_not_believed(who, wait_ms, outside_s, said):
    """A load of 400 ms may wait a tenth of its time, as long as other processes ran."""
    assert starved(who, wait_ms, outside_s).codes() == said


def starved(who: str, wait_ms: float, outside_s: float | None) -> Scene:
    quick = Network.parse("100mbit/100mbit/5ms/0%/200ms")
    visit = made.visit(plt_ms=400.0)
    told = {f"{who}_wait_ms": wait_ms, "outside_cpu_s": outside_s}
    side = made.direction(transit_min_ms=5.1)
    link = LinkReport(down=side, up=side)
    seen = structs.replace(visit, host=structs.replace(visit.host, **told), link=link)
    return Scene(seen, made.PAGE, quick, made.STACKS["h2"])


@pytest.mark.parametrize(("factor", "said"), [(1, set()), (171, {"link-drift"})])
def test_an_uplink_far_too_fast_shows_with_60_kb(factor, said):
    """No packet queues behind another, so the busy bottleneck shows nothing."""
    visit = made.visit()
    line_ms = made.LTE.up.least_ms(60_000) / factor
    up = made.direction(line_bytes=60_000, line_ms=line_ms, busy_bytes=0, busy_ms=0.0)
    seen = structs.replace(visit, link=structs.replace(visit.link, up=up))
    assert Scene(seen, made.PAGE, made.LTE, made.STACKS["h2"]).codes() == said


@pytest.mark.parametrize(
    ("more", "said"), [({}, {"link-drift"}), ({"jitter_ms": 10.0, "jitter_reorders": True}, set())]
)
def test_shuffled_packets_tell_no_rate_behind_the_jitter(more, said):
    """The line kept its rate, but packets that left after the jitter look half as fast."""
    down = structs.replace(made.LTE.down, **more)
    network = structs.replace(made.LTE, down=down)
    link = made.visit().link
    busy_bytes = 200 * 1500
    slow = structs.replace(
        link.down, busy_bytes=busy_bytes, busy_ms=2 * down.least_ms(busy_bytes), reordered=0
    )
    seen = structs.replace(made.visit(), link=structs.replace(link, down=slow))
    assert Scene(seen, made.PAGE, network, made.STACKS["h2"]).codes() == said


def test_an_unwanted_bottleneck_is_drift():
    free = Network(name="free", down=Direction(delay_ms=37), up=Direction(delay_ms=37))
    for line_bytes, said in ((0, set()), (40, {"link-drift"})):
        down = made.direction(line_bytes=line_bytes, line_ms=0.1 * line_bytes)
        link = LinkReport(down=down, up=made.direction(line_ms=0.0))
        seen = made.visit(link=link)
        assert Scene(seen, made.PAGE, free, made.STACKS["h2"]).codes() == said


@pytest.mark.parametrize(("invented", "said"), [(0.2, set()), (0.04, {"replay-miss"})])
def test_a_study_may_set_a_limit(invented, said):
    misses = tuple(
        made.served(f"https://a.test/?{i}", "h2", match="miss", status=404) for i in range(10)
    )
    hits = tuple(made.served(f"https://a.test/x{i}", "h2") for i in range(87))
    visit = made.visit("h2", served=(*made.visit("h2").served, *hits, *misses))
    bent = Scene(visit, made.PAGE, made.LTE, made.STACKS["h2"], Thresholds(miss_share=invented))
    assert bent.codes() == said


def test_offsets_of_clocks_are_bounded_by_every_request():
    least, most = offset_ms(made.visit(), made.LTE)
    assert least <= 0 <= most
    assert most - least < 5
    assert offset_ms(made.visit(served=()), made.LTE) is None


def test_one_late_stamp_is_no_clock_that_is_off_but_many_are():
    visit = made.visit()
    served = visit.served[0]
    asked = visit.requests[0]
    asked = structs.replace(asked, response_start_ms=asked.response_start_ms + 20)  # queued

    def codes(late: int, of: int) -> set[str]:
        urls = [f"{asked.url}{i}" for i in range(of)]
        requests = tuple(
            structs.replace(asked, url=url, send_start_ms=asked.send_start_ms + 9 * (i < late))
            for i, url in enumerate(urls)
        )
        log = tuple(structs.replace(served, url=url) for url in urls)
        told = structs.replace(visit, requests=requests, served=log)
        return {r.code for r in agreed(told, made.LTE, Thresholds())}

    assert codes(2, of=40) == codes(1, of=7) == codes(1, of=2) == set()
    assert codes(3, of=40) == codes(2, of=7) == codes(1, of=1) == {"clock-jump"}


def test_a_link_left_out_does_not_concern_clocks():
    """Requests that are faster than the link cannot tell how far two clocks are apart."""
    visit = made.visit()
    quick = tuple(structs.replace(r, response_start_ms=r.send_start_ms + 1) for r in visit.requests)
    said = Scene(structs.replace(visit, requests=quick), made.PAGE, made.LTE, made.STACKS["h2"])
    assert said.codes() == {"impossible"}


def test_script_answered_by_an_error_status_is_not_aborted():
    """Chromium says ERR_ABORTED of a script or style sheet that is answered with 404."""
    visit = made.visit()
    gone = tuple(structs.replace(r, error="net::ERR_ABORTED", status=404) for r in visit.requests)
    said = Scene(structs.replace(visit, requests=gone), made.PAGE, made.LTE, made.STACKS["h2"])
    assert said.codes() == set()


@pytest.mark.parametrize(
    ("asked_ms", "moves", "said"),
    [(-6, True, []), (20, True, []), (101, True, ["aborted"]), (-6, False, ["aborted"])],
    ids=["before it moves", "before the next is there", "of the next", "stays"],
)
def test_a_page_that_moves_on_drops_what_the_document_before_asked_for(asked_ms, moves, said):
    document, *others = made.visit().requests
    later = structs.replace(
        document,
        url="https://a.test/b",
        resource_type="Document",
        start_ms=400,
        response_start_ms=500,
        end_ms=501,
    )
    ms = later.start_ms + asked_ms
    dropped = tuple(structs.replace(r, error=ABORTED, start_ms=ms, end_ms=ms + 5) for r in others)
    journey = (document.url, later.url) if moves else (document.url,)
    visit = made.visit(requests=(document, *dropped, later), documents=journey)
    assert [r.code for r in aborted(visit, Thresholds())] == said


def stopped(*, others_until_ms: float, kind: str = "Image", known: tuple[str, ...] = ()) -> Visit:
    """A visit in which one request of three was aborted after 405 ms."""
    document, one, other, *_ = made.visit().requests
    aborted_one = structs.replace(one, error=ABORTED, start_ms=400, end_ms=405)
    other = structs.replace(other, resource_type=kind, start_ms=400, end_ms=others_until_ms)
    return made.visit(requests=(document, aborted_one, other), known_aborts=known)


def test_a_page_may_abort_its_own_requests():
    """A stop from outside stops everything that is under way; only beacons go on."""

    def codes(visit: Visit) -> list[str]:
        return [r.code for r in aborted(visit, Thresholds())]

    assert codes(stopped(others_until_ms=500)) == []
    assert codes(stopped(others_until_ms=404)) == ["aborted"]
    assert codes(stopped(others_until_ms=500, kind="Ping")) == ["aborted"]


def test_what_the_rehearsal_aborted_too_belongs_to_the_page():
    url = stopped(others_until_ms=404).requests[1].url
    known = stopped(others_until_ms=404, known=(url,))
    assert [r.code for r in aborted(known, Thresholds())] == []


LOSSY = Network(name="LTE", down=Direction(rate_mbps=10.5, delay_ms=37, loss=0.01), up=made.LTE.up)


def campaign(lost: int, seeds: int = 50, stacks: int = 3) -> list[Visit]:
    """`lost` of 1000 packets of every seed, `seeds` x `stacks` visits of 1000 packets or fewer."""
    return [
        made.visit(
            block=f"made|LTE|{seed}",
            seed=seed,
            link=LinkReport(
                down=made.direction(loss_trials=1000 - 100 * s, packets_out=500, dropped_loss=lost),
                up=made.direction(),
            ),
        )
        for seed in range(seeds)
        for s in range(stacks)
    ]


def test_a_little_loss_gone_wrong_shows_over_all_visits_of_a_network():
    """A loss of 15 in 1000 packets at 1 % is normal in one visit, and impossible in fifty."""
    study = structs.replace(made.study(), networks=(LOSSY,))
    alone = Scene(campaign(15)[0], made.PAGE, LOSSY, made.STACKS["h2"])
    assert alone.codes() == set()
    assert in_study(study, campaign(10)) == {}
    found = in_study(study, campaign(15))
    judged = list(with_reasons(campaign(15), found))
    assert {v.verdict for v in judged} == {"link-drift"}
    assert "750 of 50000 packets" in judged[0].reasons[0].detail
    assert list(with_reasons(judged, found)) == judged


def summed(visits: Iterable[Visit]) -> Losses:
    losses = Losses()
    for visit in visits:
        losses.add(visit, visit.reasons)
    return losses


def test_cumulative_loss_is_judged_at_its_interval():
    low, high = loss_interval(50_000, 0.01, 1e-6)
    for total, said in ((low - 1, 1), (low, 0), (high, 0), (high + 1, 1)):
        each, rest = divmod(total, 50)
        visits = [*campaign(each, 50 - rest, 1)]
        visits += [structs.replace(v, seed=v.seed + 100) for v in campaign(each + 1, rest, 1)]
        assert len(list(summed(visits).reasons(LOSSY, DEFAULTS))) == said


def test_visits_with_the_same_losses_count_once():
    """Three stacks that lost the same packets are not three times as many trials."""
    low, high = loss_interval(20_000, 0.01, 1e-6)
    assert not list(summed(campaign(high // 20, 20, 3)).reasons(LOSSY, DEFAULTS))
    assert list(summed(campaign(low // 20 - 1, 20, 3)).reasons(LOSSY, DEFAULTS))


def test_the_sum_over_a_study_behaves_as_independent_trials_do():
    """Visits of a block see the same losses and end when all is delivered, so that more lost
    packets mean more trials; still the standard score is standard."""
    draw, scores = np.random.default_rng(3), []
    for _ in range(400):
        visits = (v for seed in range(30) for v in block(draw.random(500) < 0.03, seed, draw))
        tried, lost = summed(visits).sums("LTE", "down")
        scores.append((lost - 0.03 * tried) / np.sqrt(tried * 0.03 * 0.97))
    assert abs(np.mean(scores)) < 0.2
    assert 0.85 < np.std(scores) < 1.15


def block(lost: "np.ndarray", seed: int, draw: np.random.Generator) -> Iterator[Visit]:
    """Three stacks that need about 300 delivered packets each, and send lost ones again."""
    delivered = np.cumsum(~lost)
    for needed in 300 + draw.integers(0, 50, 3):
        tried = int(np.searchsorted(delivered, needed)) + 1
        gone = int(lost[:tried].sum())
        down = made.direction(loss_trials=tried, packets_out=tried - gone, dropped_loss=gone)
        link = LinkReport(down=down, up=made.direction())
        yield structs.replace(made.visit("h2"), seed=seed, link=link)
