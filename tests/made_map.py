"""A sampled study whose load times follow a rule, so that its map is known."""

from math import log

import polars as pl

from dragstrip.study.sample import Sample, draw
from dragstrip_papers.map.sampled import SAMPLED_FACTORS

SAMPLE = Sample(
    cells=300,
    down_mbps=(1, 100),
    rtt_ms=(10, 400),
    loss=(0.001, 0.03),
    lossless=0.4,
    queue_ms=(10, 800),
    page_bytes=(10e3, 1e6),
    objects=(1, 64),
)


def made_map(sample: Sample = SAMPLE) -> pl.DataFrame:
    """h3 gains with the round trip and loses with the rate; the tuned stacks are always alike."""
    rows = []
    for number, cell in enumerate(draw(sample, 1)):
        down, rtt = cell.network.down, cell.network.rtt_ms
        count, size = cell.page.removeprefix("synth:").removesuffix("B").split("x")
        gain = 0.1 * log(rtt / 60) - 0.1 * log(down.rate_mbps / 10)
        place = (down.rate_mbps, rtt, down.loss, down.queue_ms, int(count) * int(size), int(count))
        times = {"h2": 1000.0, "h3": 1000 * 2.718**-gain, "h2+": 900.0, "h3+": 901.0}
        rows.append(
            {"number": number, "page": cell.page, "network": cell.network.name}
            | dict(zip(SAMPLED_FACTORS, place, strict=True))
            | {f"plt_ms_{stack}": time for stack, time in times.items()}
        )
    return pl.DataFrame(rows)
