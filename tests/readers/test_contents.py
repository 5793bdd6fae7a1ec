"""What a column holds is told from its type and its first values."""

import pyarrow as pa
import pytest

from imagenet_errors.readers.contents import Content, content_of


@pytest.mark.parametrize(
    ("values", "content"),
    [
        pytest.param(["a/b.JPEG", "c.png"], Content.IMAGE, id="image endings"),
        pytest.param(["ILSVRC2012_val_00000001"], Content.IMAGE, id="validation name without ending"),
        pytest.param(["00000293"], Content.IMAGE, id="eight digits"),
        pytest.param(["n01440764", "n01443537"], Content.WNID, id="wnids"),
        pytest.param([*["a.JPEG"] * 9, "total"], Content.IMAGE, id="nine image endings of ten"),
        pytest.param([*["a.JPEG"] * 8, "total"], Content.TEXT, id="eight image endings of nine"),
        pytest.param(["n01440764 tench"], Content.TEXT, id="wnid with name"),
        pytest.param(["tench", "nan"], Content.TEXT, id="a class beside the word nan"),
        pytest.param(["nan", "nan"], Content.BLANK, id="the word nan alone"),
        pytest.param(["65", "3"], Content.INTEGER, id="written numbers"),
        pytest.param(["65.0", "3.0"], Content.INTEGER, id="whole numbers that became floats"),
        pytest.param(["0.5", "1e-5"], Content.NUMBER, id="written fractions"),
        pytest.param([65.0, 3.0], Content.INTEGER, id="float column of whole numbers"),
        pytest.param([0.0, 1.0], Content.NUMBER, id="zeros and ones may be probabilities"),
        pytest.param(["True", "False"], Content.OTHER, id="truth values"),
        pytest.param(["", ""], Content.EMPTY, id="blank cells"),
        pytest.param([[1, 2], [3, 4]], Content.INTEGER, id="lists, by their values"),
    ],
)
def test_content_is_told_from_the_values(values, content):
    assert content_of(pa.array(values)) is content


@pytest.mark.parametrize(
    ("cells", "content"),
    [
        pytest.param(["55,3 %", "4 %"], Content.NUMBER, id="shares of a hundred are no classes"),
        pytest.param(["99 %", "100 %"], Content.NUMBER, id="a whole one neither"),
        pytest.param(["200 %", "300 %"], Content.INTEGER, id="whole numbers of wholes"),
    ],
)
def test_percent_signs_divide_by_a_hundred(cells, content):
    assert content_of(pa.array(cells)) is content
