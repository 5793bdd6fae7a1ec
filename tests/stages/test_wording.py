"""Sentences about many cases at once read like sentences about one."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.stages.wording import either, fill, listed, named
from imagenet_errors.tables import Ragged

NAMES = pa.array(["tabby", "sofa", "mug"])


@pytest.mark.parametrize(
    ("column", "sentences"),
    [
        pytest.param(pa.array(["cat", "dog"]), ["a cat.", "a dog."], id="text"),
        pytest.param("cup", ["a cup.", "a cup."], id="one text for all rows"),
        pytest.param(7, ["a 7.", "a 7."], id="one number for all rows"),
        pytest.param(np.int64(7), ["a 7.", "a 7."], id="one number of numpy's"),
        pytest.param(np.array([1, 2], dtype=np.int16), ["a 1.", "a 2."], id="numbers"),
        pytest.param(pa.array(["cat", None]), ["a cat.", None], id="null makes the sentence null"),
    ],
)
def test_fill_writes_a_sentence_a_row(column, sentences):
    beside = pa.array(["", ""])
    assert fill("a {}{}.", column, beside).to_pylist() == sentences


def test_a_template_needs_a_column_for_every_gap():
    with pytest.raises(ValueError, match=r"2 gaps for 1 columns"):
        fill("{} is {}", "x")


def test_names_of_a_row_are_joined_by_commas():
    assert listed(Ragged.of([[0, 2], [], [1]]), NAMES).to_pylist() == ["tabby, mug", "", "sofa"]


def test_minus_one_has_no_name():
    assert named(np.array([2, -1]), NAMES).to_pylist() == ["mug", None]


def test_either_chooses_row_by_row():
    assert either(np.array([True, False]), NAMES[:2], "none").to_pylist() == ["tabby", "none"]
