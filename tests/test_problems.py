"""An error says where, what, the first example and the way out; counts read like English."""

import pytest

from imagenet_errors.problems import InputError, counted


def test_the_text_holds_every_part():
    error = InputError("a.csv", "2 rows are empty", example="row 7", fix="Fill them.")
    assert str(error) == "a.csv: 2 rows are empty (first: row 7). Fill them."


def test_without_an_example_or_a_way_out_no_gap_is_left():
    assert str(InputError("a.csv", "is empty")) == "a.csv: is empty."


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [
        pytest.param(1, ("row",), "1 row", id="one"),
        pytest.param(0, ("row",), "0 rows", id="none"),
        pytest.param(20_000, ("row",), "20,000 rows", id="many"),
        pytest.param(2, ("class", "classes"), "2 classes", id="irregular"),
    ],
)
def test_counts(n, words, text):
    assert counted(n, *words) == text
