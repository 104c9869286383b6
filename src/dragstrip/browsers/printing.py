"""Prints a page of HTML on one sheet of A4, by the installed Chromium."""

import base64
import os
import tempfile
from pathlib import Path

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.chromium import chromium_at
from dragstrip.browsers.environment import NO_PROXIES
from dragstrip.browsers.place import BrowserPlace
from dragstrip.model.study import Client

WIDTH_PX, HEIGHT_PX = 703, 1032
"""Room of an A4 page between margins of 12 mm, in CSS pixels (1/96 inch)."""
_LEAST = 0.5
"""Smallest scale: half-sized print is still readable."""


def pdf_of(html: str) -> bytes:
    """Print the PDF: one page, printed smaller if the text is longer, down to half size.

    Raises `TestbedError` if no browser is installed, and `BrowserError`.
    """
    with tempfile.TemporaryDirectory(prefix="dragstrip-print-") as folder:
        root = os.geteuid() == 0
        if root:
            Path(folder).chmod(0o711)  # the browser's user passes through
        place = BrowserPlace(
            command=lambda *argv: ["env", *NO_PROXIES, *argv],
            workspace=Path(folder),
            drop_root=root,
            # Nothing foreign runs: the page has no scripts, and no name can be resolved.
            flags=("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"),
        )
        with chromium_at(place, "h2", Client()) as browser:
            target = browser.cdp.call("Target.createTarget", url="about:blank")["targetId"]
            attached = browser.cdp.call("Target.attachToTarget", targetId=target, flatten=True)
            return _printed(browser.cdp, attached["sessionId"], html)


def _printed(cdp: Cdp, session: str, html: str) -> bytes:
    frame = cdp.call("Page.getFrameTree", session)["frameTree"]["frame"]["id"]
    cdp.call("Page.setDocumentContent", session, frameId=frame, html=html)
    cdp.call("Emulation.setEmulatedMedia", session, media="print")
    scale = 1.0
    while scale > _LEAST and _height(cdp, session, round(WIDTH_PX / scale)) * scale > HEIGHT_PX:
        scale -= 0.025
    printed = cdp.call(
        "Page.printToPDF",
        session,
        preferCSSPageSize=True,
        printBackground=True,
        scale=scale,
        generateTaggedPDF=True,
    )
    return base64.b64decode(printed["data"])


def _height(cdp: Cdp, session: str, width: int) -> float:
    """Measure the height of the document in CSS pixels at this width."""
    cdp.call(
        "Emulation.setDeviceMetricsOverride",
        session,
        width=width,
        height=100,
        deviceScaleFactor=1,
        mobile=False,
    )
    asked = "document.documentElement.scrollHeight"
    found = cdp.call("Runtime.evaluate", session, expression=asked, returnByValue=True)
    height: float = found["result"]["value"]
    return height
