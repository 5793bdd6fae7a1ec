"""Pictures are found by name, made small, and linked from where the page lies."""

import base64
import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from imagenet_errors.problems import InputError
from imagenet_errors.report.page.pictures import THUMBNAIL_PIXELS, find_pictures, pictures_for

NAMES = pa.array([f"ILSVRC2012_val_0000000{number}.JPEG" for number in (1, 2, 3)])


def picture(path, size=(500, 300)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "teal").save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    picture(tmp_path / "images" / "n01440764" / "ILSVRC2012_val_00000002.JPEG")
    picture(tmp_path / "images" / "a #1" / "ILSVRC2012_val_00000003.png")
    (tmp_path / "images" / "notes.txt").write_text("not a picture", encoding="utf-8")
    return tmp_path / "images"


def test_images_are_found_at_any_depth_and_by_any_ending(folder):
    assert sorted(find_pictures(folder, NAMES)) == [1, 2]


def test_small_copies_fit_into_their_square(folder, tmp_path):
    made = pictures_for(find_pictures(folder, NAMES), np.array([1]), beside=tmp_path, n_embedded=1)
    data = base64.b64decode(made.thumbnails[1].removeprefix("data:image/webp;base64,"))
    assert Image.open(io.BytesIO(data)).size == (THUMBNAIL_PIXELS, round(THUMBNAIL_PIXELS * 0.6))


def test_the_first_wanted_are_inside_and_all_are_linked(folder, tmp_path):
    made = pictures_for(find_pictures(folder, NAMES), np.array([2, 0, 2, 1]), beside=tmp_path / "page", n_embedded=1)
    assert list(made.thumbnails) == [2]
    assert made.links[2] == "../images/a%20%231/ILSVRC2012_val_00000003.png"
    assert made.links[1] == "../images/n01440764/ILSVRC2012_val_00000002.JPEG"


def test_a_broken_picture_is_counted_and_does_not_stop_the_page(folder, tmp_path):
    (folder / "ILSVRC2012_val_00000001.JPEG").write_bytes(b"torn")
    made = pictures_for(find_pictures(folder, NAMES), np.array([0, 1]), beside=tmp_path, n_embedded=9)
    assert made.n_unreadable == 1
    assert list(made.thumbnails) == [1]


def test_grey_and_palette_pictures_are_fine(tmp_path):
    Image.new("L", (9, 9)).save(tmp_path / "ILSVRC2012_val_00000001.png")
    Image.new("P", (9, 9)).save(tmp_path / "ILSVRC2012_val_00000002.gif")
    made = pictures_for(find_pictures(tmp_path, NAMES), np.array([0, 1]), beside=tmp_path, n_embedded=9)
    assert len(made.thumbnails) == 2


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("nowhere", "no such folder", id="no folder"),
        pytest.param("empty", "no image in this folder", id="no image"),
    ],
)
def test_a_folder_without_the_images_is_refused(tmp_path, path, message):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        find_pictures(tmp_path / path, NAMES)
