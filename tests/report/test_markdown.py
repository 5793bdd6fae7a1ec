"""Markdown pieces: tables that nothing breaks out of, figures in words."""

import math

import pytest

from imagenet_errors.report.markdown import decimal, interval, md_table, percent
from imagenet_errors.study.outcomes import Bounded


def test_a_table_has_its_text_left_and_its_numbers_right():
    assert md_table(["kind", "n"], [("a", 1)]) == "| kind | n |\n| --- | ---: |\n| a | 1 |\n"


def test_no_content_breaks_out_of_its_cell():
    assert md_table(["kind"], [["a|b\n<script>"]]).splitlines()[2] == "| a\\|b &lt;script> |"


@pytest.mark.parametrize(
    ("bounded", "style", "text"),
    [
        pytest.param(Bounded(222, 204, 253), None, "222 (204 to 253)", id="counts"),
        pytest.param(Bounded(0.5, 0.25, 0.75), float, "50.0 % (25.0 % to 75.0 %)", id="shares"),
        pytest.param(Bounded(7, 7, 7), None, "7", id="nothing unknown"),
        pytest.param(Bounded(math.nan, math.nan, math.nan), float, "–", id="undefined"),
        pytest.param(Bounded(1.0, math.nan, 1.0), float, "100.0 % (– to 100.0 %)", id="undefined at one end"),
    ],
)
def test_a_bounded_figure_is_told_with_its_ends(bounded, style, text):
    assert interval(bounded, style) == text


def test_what_is_undefined_is_a_dash():
    assert (percent(math.nan), decimal(math.nan)) == ("–", "–")
