"""A written name means one annotated image, however it is written; nothing is matched by luck."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.images import ImageIndex, val_file_names, val_numbers
from imagenet_errors.problems import InputError


def rows(known, *names):
    return ImageIndex(pa.array(known)).rows(pa.array(names, type=pa.string()), where="model.csv").tolist()


VAL = ["ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000293.JPEG"]
V2 = ["0/6.jpeg", "1/6.jpeg", "1/7.jpeg"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ILSVRC2012_val_00000293.JPEG", id="as published"),
        pytest.param("n01440764/ILSVRC2012_val_00000293.JPEG", id="class folder"),
        pytest.param("val/ILSVRC2012_val_00000293.JPEG", id="val folder"),
        pytest.param("/data/imagenet/val/n01440764/ILSVRC2012_val_00000293.JPEG", id="absolute path"),
        pytest.param("val\\n01440764\\ILSVRC2012_val_00000293.JPEG", id="backslashes"),
        pytest.param("C:\\data\\ILSVRC2012_val_00000293.JPEG", id="drive letter"),
        pytest.param("ILSVRC2012_val_00000293.jpg", id="jpg"),
        pytest.param("ILSVRC2012_val_00000293.png", id="png after resizing"),
        pytest.param("ILSVRC2012_val_00000293.JPG", id="upper-case extension"),
        pytest.param("ILSVRC2012_val_00000293.JPEG.png", id="two extensions"),
        pytest.param("ILSVRC2012_val_00000293", id="no extension"),
        pytest.param("ilsvrc2012_VAL_00000293.jpeg", id="letter case changed"),
        pytest.param("ILSVRC2012_val_00000293_n01440764.JPEG", id="Hugging Face's wnid suffix"),
        pytest.param("n01440764_ILSVRC2012_val_00000293.JPEG", id="class in front"),
        pytest.param("00000293", id="8 digits"),
        pytest.param("val/00000293.jpg", id="8 digits in a folder"),
    ],
)
def test_a_validation_image_is_known_by_its_number(name):
    assert rows(VAL, name) == [1]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param(None, id="missing"),
        pytest.param("293", id="fewer than 8 digits"),
        pytest.param("000000293", id="9 digits"),
        pytest.param("ILSVRC2012_test_00000293.JPEG", id="the test set"),
        pytest.param("n01440764_00000293.JPEG", id="the training set"),
        pytest.param("ILSVRC2012_val_00000000.JPEG", id="numbers count from 1"),
        pytest.param("ILSVRC2012_val_00000294.JPEG", id="another image"),
        pytest.param("ILSVRC2012_val_00050001.JPEG", id="beyond the last image"),
        pytest.param("ILSVRC2012_val_0000029x.JPEG", id="a letter among the digits"),
    ],
)
def test_other_names_mean_no_validation_image(name):
    assert rows(VAL, name) == [-1]


@given(st.lists(st.integers(1, 50_000), min_size=1, max_size=20), st.integers(0, 19))
def test_names_and_numbers_are_each_others_inverse(numbers, start):
    names = val_file_names(np.array(numbers))
    assert val_numbers(names).tolist() == numbers
    assert val_numbers(names.cast(pa.large_string())).tolist() == numbers
    assert val_numbers(names[start:]).tolist() == numbers[start:]


def test_numbers_are_found_beside_names_written_in_another_way():
    assert val_numbers(pa.array([VAL[1], "photo.JPEG", "00000007"])).tolist() == [293, 0, 7]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        pytest.param("1/6.jpeg", 1, id="as it is"),
        pytest.param("imagenetv2-matched-frequency/1/6.jpeg", 1, id="longer path"),
        pytest.param("1\\6.jpeg", 1, id="backslash"),
        pytest.param("./1/6.jpeg", 1, id="dot in front"),
        pytest.param("1/6.JPG", 1, id="another extension"),
        pytest.param("1/6", 1, id="no extension"),
        pytest.param("7.jpeg", 2, id="base name that only one image has"),
        pytest.param("2/7.jpeg", -1, id="the folder says another image"),
        pytest.param("11/6.jpeg", -1, id="the folder ends alike"),
    ],
)
def test_images_of_other_sets_are_known_by_folder_and_name(name, row):
    assert rows(V2, name) == [row]


def test_a_base_name_that_several_images_have_is_refused():
    with pytest.raises(InputError, match=r"1 name by which several annotated images .*\(first: 6.jpeg\).*folder"):
        rows(V2, "1/7.jpeg", "6.jpeg")


def test_names_that_differ_by_extension_alone_are_told_apart_where_it_is_given():
    known = ["a/x.jpg", "a/x.png"]
    assert rows(known, "a/x.png", "a/x.jpg") == [1, 0]
    with pytest.raises(InputError, match=r"several"):
        rows(known, "b/a/x")


def test_folders_above_the_last_tell_images_apart_where_they_are_given():
    assert rows(["one/a/x.jpg", "two/a/x.jpg"], "two/a/x.jpg") == [1]


def test_names_without_folders_match_whatever_folder_the_predictions_give():
    assert rows(["x.jpg", "y.jpg"], "n01440764/y.jpg") == [1]


def test_numbers_that_repeat_from_folder_to_folder_are_no_validation_images():
    known = ["n01440764/00000001.jpg", "n01443537/00000001.jpg"]
    assert not ImageIndex(pa.array(known)).is_val
    assert rows(known, "n01443537/00000001.jpg") == [1]


def test_one_foreign_name_makes_a_set_another_one_than_the_validation_set():
    assert ImageIndex(pa.array(VAL)).is_val
    assert not ImageIndex(pa.array([*VAL, "cat.jpg"])).is_val
