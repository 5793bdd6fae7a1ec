"""Arrow columns to numpy: each row is checked, and the first wrong one is shown."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.fields import fields_of
from imagenet_errors.readers.values import class_indices, numbers, pick, to_numpy, value_matrix

ABOUT = {"where": "model.csv", "header": "index"}


@pytest.mark.parametrize(
    ("cells", "index"),
    [
        pytest.param(["65", "007"], [65, 7], id="written"),
        pytest.param([" 65 ", "3"], [65, 3], id="blanks around"),
        pytest.param(["65.0", "3"], [65, 3], id="whole floats as text"),
        pytest.param([65.0, 3.0], [65, 3], id="whole floats"),
        pytest.param(["tensor(65)", "np.int64(3)"], [65, 3], id="printed scalars"),
        pytest.param(["3", "1,000", "999"], [3, 1000, 999], id="commas between thousands"),
        pytest.param(["3,000", "65,000"], [3, 65], id="decimal commas in every cell"),
        pytest.param(["#N/A", "missing", "-", "3"], [-1, -1, -1, 3], id="words for none"),
        pytest.param(["", "3"], [-1, 3], id="an empty cell gives none"),
        pytest.param([None, 3], [-1, 3], id="null gives none"),
        pytest.param([float("nan"), 3.0], [-1, 3], id="NaN gives none"),
        pytest.param([-1, 3], [-1, 3], id="-1 gives none"),
    ],
)
def test_a_class_index_is_read(cells, index):
    assert class_indices(pa.array(cells), **ABOUT).tolist() == index


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        pytest.param(["3", "65.5"], "row 2: '65.5'", id="a fraction"),
        pytest.param([3.0, 65.5], "row 2: 65.5", id="a float fraction"),
        pytest.param(["3", "abc"], "row 2: 'abc'", id="a word"),
        pytest.param([3, -7], "row 2: -7", id="a negative number"),
        pytest.param(["3", "inf"], "row 2: 'inf'", id="infinity"),
        pytest.param(["3", "99999999999999999999"], "row 2: '99999999999999999999'", id="beyond 64 bits"),
    ],
)
def test_what_is_no_class_index_is_refused_with_its_row(cells, told):
    with pytest.raises(InputError, match=rf"1 (row|cell) of column 'index' \(first: {told}\)"):
        class_indices(pa.array(cells), **ABOUT)


def test_numbers_may_be_missing_nan_or_have_a_decimal_comma():
    values = numbers(pa.array([" 0.5", "", "None", "nan", "0,25", "1e-3", "+1"]), **ABOUT)
    assert values.is_null().to_pylist() == [False, True, True, False, False, False, False]
    np.testing.assert_array_equal(to_numpy(values), [0.5, np.nan, np.nan, np.nan, 0.25, 1e-3, 1])


def field(values):
    return fields_of(["x"], [pa.array(values)], where="model.csv")[0]


def test_what_microsofts_compilers_print_for_nan_and_infinity_is_read():
    cells = pa.array(["1.#QNAN", "-nan(ind)", "1.#IND00", "-1.#INF"])
    assert str(to_numpy(numbers(cells, **ABOUT))) == "[ nan  nan  nan -inf]"


def test_one_value_is_picked_out_of_each_list_and_none_out_of_an_empty_one():
    picked = pick(field([[3, 4], [], [5, 6], None]), np.array([0, 0, 1, 0]), where="model.csv")
    assert picked.to_pylist() == [3, None, 6, None]


def test_a_single_value_a_row_is_picked_whichever_of_the_ranks_beside_it_is_the_best():
    assert pick(field(["a", "b"]), np.array([1, 0]), where="model.csv").to_pylist() == ["a", "b"]


def test_one_value_is_picked_out_of_a_family_of_columns():
    family = fields_of(["x_0", "x_1"], [pa.array(["a", "b"]), pa.array(["c", "d"])], where="model.csv")[0]
    assert pick(family, np.array([1, 0]), where="model.csv").to_pylist() == ["c", "b"]


def test_several_values_a_row_become_a_matrix():
    np.testing.assert_array_equal(
        value_matrix(field([[0.5, 0.25], None]), where="a.csv"), [[0.5, 0.25], [np.nan, np.nan]]
    )


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(InputError, match=r"different lengths.*row 1 has 1, others 2.*--annotations"):
        pick(field([[3], [4, 5]]), np.array([0, 0]), where="model.csv")
