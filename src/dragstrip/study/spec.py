"""The specification of a study, before its pages are made.

The study file, the command line and Python fill a `StudySpec`; `resolve` makes the study that runs.

>>> spec = StudySpec(
...     name="race",
...     pages=["demo"],
...     networks=[find_network("LTE")],
...     stacks=[find_stack("h2"), find_stack("h3")],
...     runs=5,
...     seed=0,
... )
>>> study = spec.resolve(page_cache())
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path

from msgspec import structs

from dragstrip.model.done import parse_done
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study, StudyOptions
from dragstrip.pages.live import live_page
from dragstrip.pages.resolve import expand, resolve
from dragstrip.pages.think import check_think_times
from dragstrip.study.clients import check_cache
from dragstrip.study.controls import controls_of
from dragstrip.study.possible import check
from dragstrip.study.sample import Sample, draw


class SpecOptions(StudyOptions, frozen=True, kw_only=True):
    """The options of a specification: options that a study keeps, and options that `resolve`
    replaces. Each is declared only here: docs/howto/add-an-option.md."""

    controls: bool = True
    """Blocks visit the first stack twice more: under another name (A/A control), and with answers
    one round trip late (positive control)."""
    sample: Sample | None = None
    """Cells drawn from ranges, instead of `pages` and `networks`."""
    done: str = ""
    """When a page counts as loaded: `load`, `network-idle`, `selector:CSS` or `mark:NAME`. By
    default the page's file decides, or else the load event."""


class StudySpec(SpecOptions, frozen=True, kw_only=True):
    """The specification of a study, with enough data to count visits and estimate times."""

    pages: Sequence[str]
    """Files, names and URLs as the user gave them."""
    networks: Sequence[Network]
    stacks: Sequence[Stack]
    client: Client = Client()
    controls: bool = False
    """Whether controls are added. The default in a study file is true."""
    live: bool = False
    """Whether the pages are URLs of real sites."""
    ca: Path | None = None
    """Certificate of an additional authority to trust for live pages."""

    @property
    def visited(self) -> tuple[Stack, ...]:
        """All stacks and controls that blocks visit."""
        return (*self.stacks, *self._controls)

    def visits_in(self, runs: int) -> int:
        """Return the number of visits in this many blocks of a cell."""
        controls = ceil(runs / self.controls_every) * len(self._controls)
        return runs * len(self.stacks) + controls

    @property
    def visits_per_block(self) -> float:
        """Mean number of visits in a block over all runs."""
        return self.visits_in(self.runs) / self.runs

    def resolve(self, cache: Path) -> Study:
        """Make the study to run. Imported pages are stored in `cache`. Raises `InputError`.

        With a `sample`, its pages and networks replace `pages` and `networks`. With `done`, that
        condition holds for every page.
        """
        self._check()
        drawn = draw(self.sample, self.seed) if self.sample else []
        given = list(dict.fromkeys(d.page for d in drawn)) if drawn else self.pages
        networks = tuple({d.network.name: d.network for d in drawn}.values() or self.networks)
        pages = self._resolve_pages(given, cache)
        self._check_names(pages, networks)
        if self.done:
            pages = [structs.replace(page, done=self.done) for page in pages]
        if self.think_time:
            check_think_times(pages)
        check_cache(self.stacks, self.connections)
        check(
            networks,
            self.stacks,
            self.client,
            pages=pages,
            addresses=self.addresses,
            live=self.live,
        )
        names = dict(zip(given, (p.name for p in pages), strict=True)) if drawn else {}
        return Study(
            **{name: getattr(self, name) for name in StudyOptions.__struct_fields__},
            pages=tuple(pages),
            networks=networks,
            stacks=tuple(self.stacks),
            client=self.client,
            controls=self._controls,
            ca=str(self.ca.absolute()) if self.ca else "",
            only=tuple((names[d.page], d.network.name, c) for d in drawn for c in self.connections),
            sampled=bool(drawn),
            per_guest=self.sample.per_guest if self.sample else 1,
        )

    @property
    def _controls(self) -> tuple[Stack, ...]:
        return controls_of(self.stacks, live=self.live) if self.controls else ()

    def _check(self) -> None:
        """Raise `InputError` for options that cannot be raced, whatever the pages are."""
        if self.done:
            parse_done(self.done)
        if self.runs < 1:
            raise InputError(f"{self.runs} runs measure nothing: ask for at least 1")
        if not 1 <= self.restarts <= self.runs:
            raise InputError(
                f"restarts: {self.runs} runs can be spread over 1 to {self.runs}, "
                f"not {self.restarts}"
            )
        if len(self.stacks) < 2:
            raise InputError("a race needs at least two stacks, like --stack h2 --stack h3")
        if self.ca and not self.ca.is_file():
            raise InputError(f"there is no certificate {self.ca}")
        if self.live and self.clock.virtual:
            raise InputError(
                "a live page is raced in real time: its servers' clocks cannot be virtual"
            )

    def _resolve_pages(self, given: Sequence[str], cache: Path) -> list[Page]:
        if self.live:
            return [live_page(page) for page in given]
        return [resolve(page, cache) for name in given for page in expand(name)]

    def _check_names(self, pages: Sequence[Page], networks: Sequence[Network]) -> None:
        """Raise `InputError` if a name is used twice."""
        for kind, names in (
            ("page", [p.name for p in pages]),
            ("network", [n.name for n in networks]),
            ("stack", [s.name for s in self.visited]),
            ("connection", [str(c) for c in self.connections]),
        ):
            if twice := {n for n, times in Counter(names).items() if times > 1}:
                raise InputError(f"{kind} {min(twice)!r} is given twice")
