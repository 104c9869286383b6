"""Makes a page that paints known boxes at known times, to check what the recorded frames show."""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.pages.format.recording import Recorded, Recording

URL = "https://painted.test/"


class PaintedBox(Struct, frozen=True):
    at_ms: int
    """Time in ms after the start of the navigation at which the box is painted."""
    width_percent: int
    colour: str


BOXES = (
    PaintedBox(200, 20, "#c00000"),
    PaintedBox(400, 70, "#00a000"),
    PaintedBox(800, 10, "#0000c0"),
)
"""Boxes that complete the page to 20, 90 and 100 %: VC85 at 400 ms, SpeedIndex 200 + 200 * 0.8 +
400 * 0.1 = 400 ms."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>painted</title><link rel="icon" href="data:,">
<style>html, body { margin: 0; background: #fff; } div { position: fixed; top: 0; height: 100%; }
iframe { display: none; }</style></head><body><iframe></iframe>
<script>
// A document that is open holds up the load event of the page around it.
const held = document.querySelector("iframe").contentDocument;
held.open();
const at = (ms, act) => setTimeout(act, ms - performance.now());
performance.painted = [];
BOXES.forEach(([ms, left, width, colour]) => at(ms, () => {
  const box = document.createElement("div");
  box.style.cssText = `left: ${left}%; width: ${width}%; background: ${colour}`;
  document.body.append(box);
  performance.painted.push(performance.now());
}));
at(END, () => held.close());
</script></body></html>
"""


def painted(boxes: Sequence[PaintedBox] = BOXES) -> Recording:
    """Return the page as a recording of one document."""
    lefts = [sum(b.width_percent for b in boxes[:i]) for i in range(len(boxes))]
    rows = [
        [b.at_ms, left, b.width_percent, b.colour] for b, left in zip(boxes, lefts, strict=True)
    ]
    end = max(b.at_ms for b in boxes) + 100
    body = _PAGE.replace("BOXES", str(rows)).replace("END", str(end)).encode()
    headers = (("content-type", "text/html; charset=utf-8"), ("cache-control", "no-store"))
    return Recording(
        name="painted",
        url=URL,
        source=f"generated: {len(boxes)} boxes painted at known times",
        answers=(Recorded(url=URL, status_text="OK", headers=headers, wire=body),),
    )
