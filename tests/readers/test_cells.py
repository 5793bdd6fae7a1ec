"""Lists in text cells, as numpy, Python, torch and JSON print them."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.problems import InputError
from imagenet_errors.readers.cells import looks_like_a_list, parse_list_cells, scored_items


def parsed(*cells):
    return parse_list_cells(pa.array(cells, type=pa.string()), where="model.csv").to_pylist()


@pytest.mark.parametrize(
    ("cell", "items"),
    [
        pytest.param("[65  1  2]", ["65", "1", "2"], id="numpy numbers, padded"),
        pytest.param("[0.5 1.2e-05\n 3.]", ["0.5", "1.2e-05", "3."], id="numpy floats over two lines"),
        pytest.param("['sea snake' 'alp']", ["sea snake", "alp"], id="numpy texts without commas"),
        pytest.param("['alp' \"jack-o'-lantern\"]", ["alp", "jack-o'-lantern"], id="both quotes"),
        pytest.param("['tench, Tinca tinca'\n 'alp']", ["tench, Tinca tinca", "alp"], id="over two lines"),
        pytest.param(r"""['a\'b"c']""", ["a'b\"c"], id="escaped quote"),
        pytest.param("[65, 1]", ["65", "1"], id="Python list"),
        pytest.param('["sea snake", "alp"]', ["sea snake", "alp"], id="JSON list"),
        pytest.param("[np.float64(0.5), np.float64(0.25)]", ["0.5", "0.25"], id="numpy 2 scalars in a list"),
        pytest.param("tensor([65, 1])", ["65", "1"], id="torch tensor"),
        pytest.param("[]", None, id="empty list"),
    ],
)
def test_a_cell_is_split_into_its_items(cell, items):
    assert looks_like_a_list(cell)
    assert parsed(cell) == [items]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_any_texts_come_back_from_how_numpy_prints_them(texts):
    array = np.array(texts)
    assert parsed(str(array)) == [array.tolist()]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_any_texts_come_back_from_how_python_prints_them(texts):
    assert parsed(str(texts)) == [texts]


@given(st.lists(st.floats(width=32), min_size=1, max_size=100))
def test_any_numbers_come_back_from_how_numpy_prints_them(numbers):
    array = np.array(numbers, dtype=np.float32)
    (items,) = parsed(str(array))
    np.testing.assert_allclose(np.array(items, dtype=np.float64), array, rtol=1e-6, atol=1e-8)


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=50))
def test_whole_numbers_come_back_exactly(numbers):
    printed = (str(np.array(numbers)), str(numbers), json.dumps(numbers))
    assert parsed(*printed) == [[str(number) for number in numbers]] * 3


def test_a_list_that_numpy_shortened_is_refused():
    with pytest.raises(InputError, match=r"'\.\.\.' instead, in 1 row \(first: row 2\)\. .*Parquet"):
        parsed("[1 2]", str(np.arange(2000)))


def test_three_dots_inside_a_text_are_text():
    assert parsed("['wait ... what' '...']") == [["wait ... what", "..."]]


@pytest.mark.parametrize(
    ("cell", "items"),
    [
        pytest.param(
            "tabby, tabby cat: 0.8; lynx: 0.1", [("tabby, tabby cat", 0.8), ("lynx", 0.1)], id="commas inside"
        ),
        pytest.param("lynx (80 %), crane (bird) (9%)", [("lynx", 0.8), ("crane (bird)", 0.09)], id="percent"),
        pytest.param("lynx=8e-1\ntabby=1e-2\n", [("lynx", 0.8), ("tabby", 0.01)], id="lines"),
        pytest.param("lynx (287), tabby (281)", [], id="indices are no probabilities"),
        pytest.param("lynx: 0.8; and tabby", [], id="one without a value"),
        pytest.param("", [], id="nothing"),
        pytest.param("1" * 50_000 + " " * 50_000 + "(", [], id="a long cell takes no time"),
    ],
)
def test_classes_with_their_probabilities_behind(cell, items):
    assert scored_items(cell) == items
