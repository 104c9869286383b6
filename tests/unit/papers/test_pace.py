"""What visits in virtual time are planned to cost."""

import polars as pl
import pytest

from dragstrip_papers.campaign.pace import Pace

PACE = Pace(
    cores=2,
    visit_cpu_s=1,
    object_cpu_s=0.1,
    mb_cpu_s=2,
    slow_mb_cpu_s=4,
    slow_mbps=2,
    real_at_once=1,
    loader_share=0.5,
)


@pytest.mark.parametrize(
    ("connection", "rate_mbps", "loader", "expected"),
    [
        ("first", 1.0, False, 1 + 1 + 3 * (2 + 4)),
        ("first", 2.0, False, 1 + 1 + 3 * (2 + 4)),
        ("first", 8.0, False, 1 + 1 + 3 * (2 + 1)),
        ("first", None, False, 1 + 1 + 3 * 2),
        ("repeat", None, False, 1 + 2 * (1 + 3 * 2)),
        ("first", None, True, (1 + 1 + 3 * 2) / 2),
    ],
)
def test_a_visit_costs_what_it_moves_and_more_where_packets_come_one_by_one(
    connection: str, rate_mbps: float | None, loader: bool, expected: float
) -> None:
    cell = pl.DataFrame(
        {
            "connection": [connection],
            "objects": [10],
            "page_bytes": [3e6],
            "rate_mbps": pl.Series([rate_mbps], dtype=pl.Float64),
        }
    )
    assert cell.select(PACE.visit_s(loader=loader)).item() == pytest.approx(expected)
