"""A network's TOML table."""

import pytest

from dragstrip.model.errors import InputError
from dragstrip.study.networks import read_network


def test_a_direction_that_is_no_table_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"down: needs a table like \{ rate_mbps = 1 \}, not '1mbit'"
    ):
        read_network("slow", {"down": "1mbit", "up": {}}, tmp_path)
