"""netem's delay distributions as jitter."""

import pytest

from dragstrip.model.effects import Direction
from dragstrip.model.errors import InputError
from dragstrip.study.networks import read_network
from dragstrip.study.tracefiles.distribution import read_distribution

PARETO = "# pareto.dist\n# mean 0, sigma 1\n-8192 -4096\n 0 0\t24576\n"


def test_a_table_of_tc_is_quantiles_in_units_of_the_jitter(tmp_path):
    (tmp_path / "pareto.dist").write_text(PARETO)
    assert read_distribution(tmp_path / "pareto.dist") == (-1, -0.5, 0, 0, 3)
    down = {"delay_ms": 20, "jitter_ms": 2, "jitter_table": "pareto.dist"}
    made = read_network("n", {"down": down, "up": {}}, tmp_path).down
    assert (made.jitter_shape, made.jitter_table) == ("table", (-1, -0.5, 0, 0, 3))
    assert (made.least_delay_ms, made.most_delay_ms) == (18, 26)
    assert made.describe()[0].startswith("recorded jitter 2 ms (table ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a table has 2 to 65536 numbers, not 0"),
        ("5\n", "not 1"),
        ("1\n2\nx\n", "line 3: 'x' is no whole number from -32768 to 32767"),
        ("1 2\n99999\n", "line 2: '99999'"),
        ("1.5 2\n", "line 1: '1.5'"),
    ],
)
def test_what_is_no_table_is_named_with_its_line(tmp_path, text, said):
    (tmp_path / "x.dist").write_text(text)
    with pytest.raises(InputError) as error:
        read_network("n", {"down": {"jitter_ms": 1, "jitter_table": "x.dist"}, "up": {}}, tmp_path)
    assert said in str(error.value)
    assert str(error.value).startswith("down.jitter_table: ")


@pytest.mark.parametrize(
    "fields",
    [
        {"jitter_shape": "table"},
        {"jitter_table": (-1.0, 1.0)},
        {"jitter_shape": "table", "jitter_table": (1.0, -1.0)},
        {"jitter_shape": "table", "jitter_table": (1.0,)},
        {"jitter_shape": "table", "jitter_table": (0.0, 1e9)},
    ],
)
def test_a_table_that_cannot_be_is_refused(fields):
    with pytest.raises(ValueError, match="jitter_table"):
        Direction(jitter_ms=1, **fields)
