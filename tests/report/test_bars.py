"""A bar shares out a model's errors, adds up, and reads without colours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.report.bars import bar_legend, severity_bar


@pytest.mark.parametrize(
    ("counts", "bar"),
    [
        pytest.param([90, 2, 3, 3, 0, 0, 1, 1], "░░░░░▒▒▒▓█", id="in proportion, mildest first"),
        pytest.param([90, 0, 1000, 0, 0, 0, 0, 1], "░░░░░░░░░█", id="what is there is seen"),
        pytest.param([0, 0, 0, 0, 0, 0, 0, 7], "██████████", id="all severe"),
        pytest.param([90, 0, 0, 0, 0, 0, 0, 0], "", id="no errors"),
    ],
)
def test_errors_are_shared_out(counts, bar):
    assert severity_bar(counts, width=10).plain == bar


@given(st.lists(st.integers(0, 50_000), min_size=8, max_size=8), st.integers(4, 60))
def test_every_bar_with_errors_has_its_width(counts, width):
    assert len(severity_bar(counts, width=width).plain) == (width if any(counts[1:]) else 0)


def test_the_legend_names_every_sign():
    for sign in "░▒▓█":
        assert sign in bar_legend().plain
