"""Markdown pieces: tables that nothing breaks out of, figures in words."""

import math

import pytest

from imagenet_errors.report.markdown import cell, code, count, decimal, interval, md_table, percent


def test_a_table_has_its_text_left_and_its_numbers_right():
    assert md_table(["kind", "n"], [("a", 1)]) == "| kind | n |\n| --- | ---: |\n| a | 1 |\n"


def test_no_content_breaks_out_of_its_cell():
    assert md_table(["kind"], [["a|b\n<script>"]]).splitlines()[2] == "| a\\|b &lt;script> |"


def test_no_name_is_a_link_or_ends_the_code_it_stands_in():
    assert cell("[here](http://x.org)") == "\\[here\\](http:/&#47;x.org)"
    assert cell("a\\|b") == "a\\\\\\|b", "a backslash frees no bar"
    assert cell("www.x.org me@x.org") == "www&#46;x.org me&#64;x.org"
    assert "\x1b" not in cell("a\x1b[2J")
    assert code("a`b\nc") == "`a'b c`"


@pytest.mark.parametrize(
    ("bounded", "shown", "text"),
    [
        pytest.param((222, 204, 1253), count, "222 (204 to 1,253)", id="counts"),
        pytest.param((0.5, 0.25, 0.75), percent, "50.0 % (25.0 % to 75.0 %)", id="shares"),
        pytest.param((7, 7, 7), count, "7", id="nothing unknown"),
        pytest.param((math.nan, math.nan, math.nan), percent, "–", id="undefined"),
        pytest.param((1.0, math.nan, 1.0), percent, "100.0 % (– to 100.0 %)", id="undefined at one end"),
    ],
)
def test_a_bounded_figure_is_told_with_its_ends(bounded, shown, text):
    assert interval(bounded, shown) == text


def test_what_is_undefined_is_a_dash():
    assert [shown(math.nan) for shown in (count, percent, decimal)] == ["–", "–", "–"]
