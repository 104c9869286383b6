"""A testbed with its browsers, kept open over many visits."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from dragstrip.browsers.chromium import Chromium, chromium, stack_flags
from dragstrip.browsers.load import Load, fresh_tab, load
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.testbed.testbed import Testbed, testbed
from dragstrip.visit.drive import Plan, visit

_Kind = tuple[Protocol, tuple[str, ...]]
"""Visits with the same protocol and flags share a browser process."""


class Lab:
    """Made by `lab`. One browser per protocol and set of flags, started when first needed."""

    def __init__(self, bed: Testbed, client: Client, resources: contextlib.ExitStack) -> None:
        self._bed = bed
        self._client = client
        self._resources = resources
        self._browsers: dict[_Kind, Chromium] = {}
        self._serving: Page | None = None
        self._rehearsed: dict[tuple[str, _Kind], frozenset[str]] = {}

    def visit(self, plan: Plan) -> tuple[Visit, Load]:
        """Make one visit. Raises `TestbedError` or `CdpError` if the testbed breaks."""
        if plan.page is not self._serving:
            self._bed.origin.serve(plan.page)
            self._serving = plan.page
        kind = self._kind(plan.stack)
        browser = self._browser(kind)
        key = plan.page.digest, kind
        if key not in self._rehearsed:
            self._rehearsed[key] = self._rehearse(browser, plan)
        return visit(self._bed, browser, replace(plan, known_misses=self._known(plan.page)))

    def _known(self, page: Page) -> tuple[str, ...]:
        found = (misses for (digest, _), misses in self._rehearsed.items() if digest == page.digest)
        return tuple(sorted(frozenset().union(*found)))

    def _kind(self, stack: Stack) -> _Kind:
        return stack.protocol, stack_flags(stack, self._bed.addresses)

    def _browser(self, kind: _Kind) -> Chromium:
        if kind not in self._browsers:
            protocol, flags = kind
            self._browsers[kind] = self._resources.enter_context(
                chromium(self._bed, protocol, self._client, flags)
            )
        return self._browsers[kind]

    def _rehearse(self, browser: Chromium, plan: Plan) -> frozenset[str]:
        """Load the page once without emulation and discard the load.

        It warms up process and page, which a first load would pay for, and shows which addresses
        the page asks for though its recording lacks them.
        """
        self._bed.link.passthrough()
        self._bed.tune(plan.stack)
        with fresh_tab(browser, self._client) as session:
            load(browser, session, plan.page.url, self._client)
        self._bed.origin.close()
        misses = {s.address for s in self._bed.origin.log().requests if s.match == "miss"}
        return frozenset(misses)


@contextlib.contextmanager
def lab(study: Study) -> Iterator[Lab]:
    """A lab that can serve every page of the study."""
    hosts = dict.fromkeys(host for page in study.pages for host in page.hosts)
    with contextlib.ExitStack() as resources:
        bed = resources.enter_context(testbed(list(hosts)))
        yield Lab(bed, study.client, resources)
