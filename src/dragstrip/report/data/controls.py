"""Describes the results of controls and stopping in plain sentences."""

from collections.abc import Iterator, Sequence

from dragstrip.pages import corpus
from dragstrip.report.words.numbers import counted, percent
from dragstrip.results.compare.controls import Control
from dragstrip.results.compare.stopping import Saving

_NAMES = {
    "plt_ms": "page load",
    "ttfb_ms": "first byte",
    "fcp_ms": "first contentful paint",
}


def judgement(controls: Sequence[Control], saving: Saving | None) -> Iterator[str]:
    """Yield sentences on the controls, and on the visits saved by stopping early."""
    for name, said in by_metric(controls):
        yield f"controls, {name}: {said}"
    if saving and saving.slow:
        yield f"{counted(saving.slow, 'cell')} took so long to load that they got fewer runs"
    if saving and saving.decided:
        yield (
            f"stopping: {counted(saving.made, 'block')} instead of {saving.fixed}, "
            f"{percent(saving.share, 0)} saved"
        )
        for one in saving.decided:
            span = f" ({one.low:.3f} to {one.high:.3f})" if one.low and one.high else ""
            place = f"{corpus.label(one.page)} over {one.network}"
            mode = "" if one.connection == "first" else f", {one.connection}"
            yield f"  {place}{mode}: {one.b} / {one.a} {one.verdict} after {one.n}{span}"


def by_metric(controls: Sequence[Control]) -> Iterator[tuple[str, str]]:
    """Yield each metric that the controls measure, with the controls' result in words."""
    for control in controls:
        if said := [*_same(control), *_held(control)]:
            yield _NAMES[control.metric], "; ".join(said)


def _same(control: Control) -> Iterator[str]:
    if control.floor is not None:
        yield f"A/A: 95 % of {control.blocks} blocks differ by less than {percent(control.floor)}"
    for alarms in control.alarms:
        yield (
            f"{alarms.alarms} of {counted(alarms.comparisons, 'comparison')} a false alarm at "
            f"{percent(alarms.alpha, 0)}"
        )
    if control.least is not None:
        yield f"a cell finds {percent(control.least)} with 80 % power"


def _held(control: Control) -> Iterator[str]:
    if control.effect_rtts is not None:
        found = f", found in {control.found} of {control.held}" if control.held else ""
        yield f"one round trip held: {control.effect_rtts:+.2f} RTT{found}"
