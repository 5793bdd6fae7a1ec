"""Columns as fields: which belong together, and what lists and structs in them stand for."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.readers.contents import Content
from imagenet_errors.readers.fields import fields_of
from imagenet_errors.readers.headers import Meaning


def fields(**columns):
    arrays = [pa.array(values) for values in columns.values()]
    return fields_of(list(columns), arrays, where="model.csv")


def test_numbered_columns_of_one_kind_are_a_family_in_the_order_of_their_numbers():
    (family,) = fields(prob_1=[0.1], prob_0=[0.9], prob_2=[0.0])
    assert [member[0].as_py() for member in family.members] == [0.9, 0.1, 0.0]


def test_numbered_columns_with_a_gap_are_no_family():
    assert [field.header for field in fields(top1=[3], top5=[4])] == ["top1", "top5"]


def test_many_columns_with_wnid_headers_are_one_class_axis_with_those_labels():
    wnids = [f"n{number:08d}" for number in np.random.default_rng(0).permutation(100)]
    others = {"remark": ["dark"], "size": [[0.5, 1.5]]}
    *apart, axis = fields(**{wnids[0]: [0.5]}, **others, **{wnid: [0.5] for wnid in wnids[1:]})
    assert axis.labels == tuple(wnids)
    assert axis.n_values == 100
    assert [field.header for field in apart] == ["remark", "size"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.binary(),
        pa.large_binary(),
    ],
    ids=str,
)
def test_every_arrow_text_type_is_text(kind):
    array = pa.array(["a.JPEG", "b.JPEG"]).cast(pa.large_string()).cast(kind)
    (field,) = fields_of(["filename"], [array], where="model.parquet")
    assert field.members[0].to_pylist() == ["a.JPEG", "b.JPEG"]


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)], ids=str)
def test_every_arrow_list_type_is_a_list(kind):
    (field,) = fields_of(["index"], [pa.array([[3, 1]], type=kind)], where="model.parquet")
    assert (field.n_values, field.content) == (2, Content.INTEGER)


def test_a_family_goes_by_its_first_and_last_header():
    assert [field.header for field in fields(p_2=[0.1], p_0=[0.9], p_1=[0.0], p_3=[0.0])] == ["p_0..p_3"]


@pytest.mark.parametrize(
    ("cell", "headers"),
    [
        pytest.param({"bytes": b"\xff", "path": "a.JPEG"}, ["image"], id="a picture is its path"),
        pytest.param({"bytes": b"\xff", "sha256": "ab"}, ["image.bytes", "image.sha256"], id="a picture without one"),
        pytest.param({"name": "tench", "score": 0.5}, ["image.name", "image.score"], id="no picture"),
    ],
)
def test_a_struct_stands_for_the_columns_inside_unless_it_is_a_picture(cell, headers):
    assert [field.header for field in fields(image=[cell])] == headers


@pytest.mark.parametrize(
    ("columns", "joined"),
    [
        pytest.param({"cat": [0.5, 0.25], "dog": [0.25, 0.25], "cow": [0.25, 0.5]}, True, id="they do"),
        pytest.param({"cat": [0.333], "dog": [0.333], "cow": [0.333]}, True, id="rounded"),
        pytest.param({"cat": ["0.5"], "dog": ["0.25"], "cow": ["0.25"]}, True, id="written"),
        pytest.param({"cat": [0.5, 0.25], "dog": [0.5, 0.75]}, False, id="two may do so by chance"),
        pytest.param({"cat": [0.5, 0.5], "dog": [0.25, 0.5], "cow": [0.25, 0.5]}, False, id="not in each row"),
        pytest.param({"cat": [1.5], "dog": [-0.75], "cow": [0.25]}, False, id="below 0"),
        pytest.param({"cat": ["50 %"], "dog": ["25 %"], "cow": ["25 %"]}, False, id="in percent"),
    ],
)
def test_three_columns_and_more_that_add_up_to_1_are_the_values_of_all_classes(columns, joined):
    found = fields(**columns)
    assert [field.header for field in found] == (["cat..cow"] if joined else list(columns))
    assert found[0].labels == (tuple(columns) if joined else None)


@pytest.mark.parametrize(
    ("cells", "is_list"),
    [
        pytest.param(["[3]", "[4, 5]", "tench"], True, id="most are"),
        pytest.param(["[3]", "tench"], False, id="half are not enough"),
    ],
)
def test_texts_of_which_most_are_lists_are_parsed(cells, is_list):
    (field,) = fields(answer=cells)
    assert field.is_list == is_list


@pytest.mark.parametrize(
    ("headers", "meaning"),
    [
        pytest.param(("top1_class", "top2_class"), Meaning.RANKS, id="classes of a top-k"),
        pytest.param(("top1_prob", "top2_prob"), Meaning.CONFIDENCE, id="values of a top-k"),
        pytest.param(("class_0", "class_1"), Meaning.CLASS, id="classes of whatever"),
        pytest.param(("first", "second"), Meaning.RANKS, id="ordinals alone"),
        pytest.param(("first_prob", "second_prob"), Meaning.CONFIDENCE, id="values by ordinals"),
        pytest.param(("vit_1", "vit_2"), Meaning.UNKNOWN, id="names"),
    ],
)
def test_a_family_means_what_its_headers_share(headers, meaning):
    (family,) = fields(**dict(zip(headers, ([3, 5], [4, 6]), strict=True)))
    assert family.meaning is meaning


@pytest.mark.parametrize(("n", "joined"), [(2, False), (3, True), (20, True), (21, False)])
def test_three_to_twenty_columns_of_classes_without_headers_are_ranks(n, joined):
    found = fields(**{f"column {place + 1}": [place, 5 + place, 7 + place] for place in range(n)})
    assert len(found) == (1 if joined else n)


@pytest.mark.parametrize(
    ("beside", "joined"),
    [
        pytest.param({"column 4": ["a.JPEG", "b.JPEG"]}, True, id="image names"),
        pytest.param({"column 4": ["dark", "bright"]}, False, id="texts"),
        pytest.param({"column 4": [True, False]}, False, id="truth values"),
        pytest.param({"remark": ["dark", "bright"]}, True, id="a column with a header"),
        pytest.param({"column 4": [0.5, 0.25]}, False, id="fewer values"),
        pytest.param({"column 4": [0.5, 0.7], "column 5": [0.3, 0.2], "column 6": [0.2, 0.1]}, True, id="values"),
        pytest.param({f"column {4 + place}": [0.4 - place / 10] * 2 for place in range(4)}, False, id="more values"),
        pytest.param({"column 4": [0.2, 0.7], "column 5": [0.3, 0.2], "column 6": [0.5, 0.1]}, False, id="that rise"),
    ],
)
def test_what_else_has_no_header_tells_whether_classes_are_ranks(beside, joined):
    found = fields(**{"column 1": [3, 4], "column 2": [5, 9], "column 3": [7, 2]}, **beside)
    assert any(len(field.members) == 3 and field.meaning is Meaning.RANKS for field in found) == joined
    assert joined or len(found) == 3 + len(beside)


@pytest.mark.parametrize(
    ("first", "joined"),
    [
        pytest.param([7, 8, 9], False, id="row numbers"),
        pytest.param([7, 8], True, id="two rows may do so by chance"),
        pytest.param([7, 9, 11], True, id="by twos"),
        pytest.param([9, 8, 7], True, id="down"),
        pytest.param([7, 8, 9, None], True, id="not to the end"),
    ],
)
def test_numbers_that_count_up_by_ones_in_front_are_no_rank(first, joined):
    classes = np.arange(2 * len(first)).reshape(2, -1) + 20
    found = fields(**{"column 1": first, "column 2": classes[0], "column 3": classes[1]})
    assert len(found) == (1 if joined else 3)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        pytest.param([[3], [], [5], None], [3, None, 5, None], id="of one value"),
        pytest.param([[3], [4, 5]], [[3], [4, 5]], id="of several"),
    ],
)
def test_lists_of_one_value_a_row_are_those_values(cells, values):
    (field,) = fields(index=cells)
    assert field.members[0].to_pylist() == values
