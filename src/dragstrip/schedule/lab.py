"""A testbed with its browsers, kept open over many visits."""

import contextlib
from collections.abc import Iterator

from dragstrip.browsers.chromium import Chromium, chromium
from dragstrip.browsers.load import Load, fresh_tab, load
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.testbed.testbed import Testbed, testbed
from dragstrip.visit.drive import Plan, visit


class Lab:
    """Made by `lab`. One browser per protocol, started and warmed up when first needed."""

    def __init__(self, bed: Testbed, client: Client, resources: contextlib.ExitStack) -> None:
        self._bed = bed
        self._client = client
        self._resources = resources
        self._browsers: dict[Protocol, Chromium] = {}
        self._serving: Page | None = None

    def visit(self, plan: Plan) -> tuple[Visit, Load]:
        """Make one visit. Raises `TestbedError` or `CdpError` if the testbed breaks."""
        if plan.page is not self._serving:
            self._bed.origin.serve(plan.page)
            self._serving = plan.page
        return visit(self._bed, self._browser(plan), plan)

    def _browser(self, plan: Plan) -> Chromium:
        protocol = plan.stack.protocol
        if protocol not in self._browsers:
            browser = self._resources.enter_context(chromium(self._bed, protocol, self._client))
            self._browsers[protocol] = browser
            self._warm_up(browser, plan)
        return self._browsers[protocol]

    def _warm_up(self, browser: Chromium, plan: Plan) -> None:
        """A first load in a new process pays for code and caches of the process; discard it."""
        self._bed.link.passthrough()
        self._bed.origin.tune(plan.stack)
        with fresh_tab(browser, self._client) as session:
            load(browser, session, plan.page.url, self._client)
        self._bed.origin.close()


@contextlib.contextmanager
def lab(study: Study) -> Iterator[Lab]:
    """A lab that can serve every page of the study."""
    hosts = dict.fromkeys(host for page in study.pages for host in page.hosts)
    with contextlib.ExitStack() as resources:
        bed = resources.enter_context(testbed(list(hosts)))
        yield Lab(bed, study.client, resources)
