"""Class axes: the class at each position of a model's outputs, by width, by name, or from a file of wnids."""

import json
from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.class_axis import axis_names, axis_of_headers, class_axis

LABELS = imagenet_1k()
TENCH, GOLDFISH, SHARK = LABELS.wnids[:3]


def axis_from(tmp_path, text):
    (tmp_path / "axis.txt").write_text(text if isinstance(text, str) else json.dumps(text))
    return class_axis(str(tmp_path / "axis.txt"), LABELS).class_at.tolist()


@pytest.mark.parametrize("name", ["imagenet-1k", "1000"])
def test_1000_outputs_are_the_wnids_in_ascending_order(name):
    assert class_axis(name, LABELS).class_at.tolist() == list(range(1000))


def test_1001_outputs_have_a_background_in_front_that_is_never_a_class():
    axis = class_axis("1001", LABELS)
    assert axis.classes_of(np.array([0, 1, 66, 1000])).tolist() == [-1, 0, 65, 999]


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        pytest.param("21841", [850], id="22k: teddy"),
        pytest.param("21843", [850], id="21k: teddy"),
        pytest.param("21842", [], id="22k of Microsoft"),
        pytest.param("11821", 7, id="12k"),
        pytest.param("11221", 9, id="21k of MIIL"),
    ],
)
def test_larger_heads_lack_few_classes(name, lacking):
    axis = class_axis(name, LABELS)
    missing = sorted(set(range(1000)) - set(axis.class_at.tolist()))
    assert axis.width == int(name)
    assert missing == lacking or len(missing) == lacking
    assert (axis.class_at[axis.positions] >= 0).all()


def test_the_200_classes_of_imagenet_a_and_r_share_86():
    a, r = (set(class_axis(name, LABELS).class_at.tolist()) for name in ("imagenet-a", "imagenet-r"))
    assert (len(a), len(r), len(a & r)) == (200, 200, 86)


@pytest.mark.parametrize("position", [-1, 1001, 10**6])
def test_positions_outside_the_axis_are_no_class(position):
    assert class_axis("1001", LABELS).classes_of(np.array([position])).tolist() == [-1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{GOLDFISH}\n{TENCH}\nn00000001\n{SHARK}\n", id="a wnid a line"),
        pytest.param(f"{GOLDFISH} goldfish\n{TENCH} tench\nother\n{SHARK} shark\n", id="synset.txt"),
        pytest.param(f"index,wnid\n0,{GOLDFISH}\n1,{TENCH}\n2,\n3,{SHARK}\n", id="CSV with a header"),
        pytest.param([GOLDFISH, TENCH, "n00000001", SHARK], id="JSON list"),
        pytest.param({"0": [GOLDFISH, "goldfish"], "1": [TENCH, "tench"], "3": [SHARK, ""]}, id="Keras"),
        pytest.param({"3": SHARK, "1": TENCH, "0": GOLDFISH}, id="JSON by index, in another order"),
        pytest.param("goldfish\ntench\nn00000001\ngreat white shark\n", id="a name a line"),
        pytest.param(f"index,wnid\n1,{TENCH}\n3,{SHARK}\n0,{GOLDFISH}\n2,other\n", id="CSV in another order"),
        pytest.param(f"wnid,index\n{TENCH},1\n{SHARK},3\n{GOLDFISH},0\nother,2\n", id="CSV, wnid first"),
        pytest.param({SHARK: 3, TENCH: 1, GOLDFISH: 0}, id="class_to_idx, in another order"),
        pytest.param(f"{{0: '{GOLDFISH}', 1: '{TENCH}', 2: 'other', 3: '{SHARK}'}}", id="Python's dict"),
        pytest.param({"names": [GOLDFISH, TENCH, "other", SHARK]}, id="JSON below a key"),
        pytest.param(f"2 {TENCH}\n4 {SHARK}\n1 {GOLDFISH}\n3 other\n", id="counted from 1, in another order"),
    ],
)
def test_a_file_of_wnids_is_an_axis(tmp_path, text):
    assert axis_from(tmp_path, text) == [1, 0, -1, 2]


def test_a_first_line_that_is_no_header_is_a_position(tmp_path):
    assert axis_from(tmp_path, f"background\n{TENCH}\n{GOLDFISH}\n") == [-1, 0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("happy\ntench\nsad\n", "2 of 3 lines name no class .first: happy", id="other names"),
        pytest.param("", "the file is empty", id="empty"),
        pytest.param('{"3000000000": "n01440764"}', "at most 100,000", id="a position beyond any head"),
        pytest.param(f"a\nb\n{TENCH}\n{TENCH}\n", f"1 class named more than once .first: {TENCH}", id="double"),
        pytest.param("[1", "the JSON breaks off or is wrong in line 1", id="broken JSON"),
        pytest.param('{"0": "n01440764", "1": ' + "[" * 100_000, "nested too deeply", id="nested"),
        pytest.param({"a": TENCH}, "no list of classes, nor classes by index .first: a", id="JSON by something else"),
        pytest.param({SHARK: "shark", TENCH: "tench"}, "2 wnids without an index that do not ascend", id="two orders"),
    ],
)
def test_a_file_that_is_no_axis_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        axis_from(tmp_path, text)


def test_of_a_long_unknown_name_the_first_80_characters_are_shown(tmp_path):
    with pytest.raises(InputError) as refused:
        axis_from(tmp_path, "x" * 99)
    assert refused.value.example == "x" * 80


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"--class-axis: no axis and no file '12345'.*1001.*21841.*imagenet-a"):
        class_axis("12345", LABELS)
    assert {"imagenet-1k", "1001", "11221", "11821", "21841", "21842", "21843"} <= set(axis_names())


def test_blank_lines_of_an_axis_are_no_positions(tmp_path):
    assert axis_from(tmp_path, f"\n{GOLDFISH}\n\n{TENCH}\n\n\n") == [1, 0]


def test_numbers_beside_that_leave_a_place_out_are_no_order(tmp_path):
    assert axis_from(tmp_path, f"0 {GOLDFISH}\n7 {TENCH}\n5 {SHARK}\n") == [1, 0, 2]


def test_of_classes_without_wnids_the_name_of_one_that_stands_twice_is_shown(tmp_path):
    names = ("bolt", "nut", "pin")
    (tmp_path / "axis.txt").write_text("bolt\npin\npin\n")
    with pytest.raises(InputError, match=r"1 class named more than once .first: pin"):
        class_axis(str(tmp_path / "axis.txt"), LabelSpace(("",) * 3, names, names, ("",) * 3))


def test_headers_in_an_order_of_their_own_are_the_axis():
    shifted = axis_of_headers([*LABELS.wnids[1:], "other"], LABELS, where=Path("vit.csv"))
    assert shifted.class_at.tolist() == [*range(1, 1000), -1]


def test_headers_that_call_two_columns_alike_are_refused():
    with pytest.raises(InputError, match=rf"2 columns of scores called by a name .*first: {GOLDFISH}"):
        axis_of_headers([GOLDFISH, TENCH, GOLDFISH], LABELS, where=Path("vit.csv"))
