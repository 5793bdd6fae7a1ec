"""Images are found in class folders or flat, in an order that never changes."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.image_folder import files_of_rows, image_files, labelled_images
from imagenet_errors.images import ImageIndex, val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

IMAGES = ImageIndex(val_file_names(np.arange(1, 51)))


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_other_files_and_hidden_ones_are_no_images(tmp_path):
    touch(tmp_path, "b.JPEG", "a/c.png", "readme.txt", ".b.JPEG", "a/labels.csv")
    assert image_files(tmp_path) == ["a/c.png", "b.JPEG"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ILSVRC2012_val_00000007.JPEG", id="flat"),
        pytest.param("n01440764/ILSVRC2012_val_00000007.JPEG", id="in class folders"),
        pytest.param("ILSVRC2012_val_00000007_n01440764.jpg", id="wnid behind the number"),
    ],
)
def test_annotated_images_are_found_however_they_lie(tmp_path, name):
    touch(tmp_path, name, "ILSVRC2012_val_00049999.JPEG")
    assert files_of_rows(tmp_path, IMAGES) == {6: name}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param((), "no such folder", id="no folder"),
        pytest.param(("a.txt",), "no image in this folder", id="no image"),
        pytest.param(("ILSVRC2012_val_00049999.JPEG",), "none of its 1 image is annotated", id="none annotated"),
    ],
)
def test_a_folder_without_them_is_refused(tmp_path, names, message):
    folder = touch(tmp_path / "images", *names)
    with pytest.raises(InputError, match=message):
        files_of_rows(folder, IMAGES)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("n01440764/n01440764_18.JPEG", id="both"),
        pytest.param("n01440764/anything.png", id="the folder tells"),
        pytest.param("n01440764_18.JPEG", id="the name tells"),
        pytest.param("train/n01440764/n01443537_18.JPEG", id="the folder goes before the name"),
    ],
)
def test_a_training_image_has_its_class_from_its_wnid(tmp_path, name):
    found = labelled_images(touch(tmp_path, name), imagenet_1k())
    assert found.files == (name,)
    assert found.classes.tolist() == [0]


def test_training_images_of_no_class_are_refused(tmp_path):
    touch(tmp_path, "n01440764/a.JPEG", "n00000001/b.JPEG", "cats/c.JPEG")
    with pytest.raises(InputError, match=r"2 images of no known class \(first: cats/c.JPEG\)"):
        labelled_images(tmp_path, imagenet_1k())


def test_images_of_other_sets_are_known_by_folder_and_name(tmp_path):
    touch(tmp_path, "n01440764/6.JPEG", "n01443537/6.JPEG")
    images = ImageIndex(pa.array(["n01443537/6.JPEG"]))
    assert files_of_rows(tmp_path, images) == {0: "n01443537/6.JPEG"}
