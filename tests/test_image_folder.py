"""Images are found in class folders or flat, in an order that never changes."""

import os
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.image_folder import (
    decoded,
    files_of_rows,
    image_files,
    labelled_images,
    read_folder,
    refuse_missing,
)
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


VAL = "ILSVRC2012_val_0000000"


def put(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".JPEG").write_text(content)
    return read_folder(folder)


def test_validation_images_come_in_the_order_of_their_names_whatever_folder_they_are_in(tmp_path):
    images = put(tmp_path, **{f"n02__{VAL}1": "1", f"n01__{VAL}2": "2", f"{VAL}3": "3"})
    assert images.names == tuple(f"{VAL}{n}.JPEG" for n in (1, 2, 3))
    assert images.paths == (f"n02/{VAL}1.JPEG", f"n01/{VAL}2.JPEG", f"{VAL}3.JPEG")


def test_other_images_keep_their_folders_which_may_tell_their_labels(tmp_path):
    assert put(tmp_path, n02__a="1", n01__b="2").names == ("n01/b.JPEG", "n02/a.JPEG")


def test_files_of_other_kinds_and_hidden_ones_are_passed_over(tmp_path):
    for name in ("notes.txt", "._a.JPEG"):
        (tmp_path / name).write_text("")
    assert len(put(tmp_path, a="1")) == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"a": "1", "b": "3"}, id="another content"),
        pytest.param({"a": "1", "c": "2"}, id="another name"),
        pytest.param({"a": "1"}, id="an image less"),
        pytest.param({"a": "2", "b": "1"}, id="contents exchanged"),
    ],
)
def test_the_hash_tells_other_images(tmp_path, other):
    assert put(tmp_path / "one", a="1", b="2").sha256 != put(tmp_path / "other", **other).sha256


def test_the_hash_is_the_same_wherever_the_folder_is(tmp_path):
    one, other = {f"{VAL}1": "1", f"{VAL}2": "2"}, {f"n1__{VAL}1": "1", f"n2__{VAL}2": "2"}
    assert put(tmp_path / "one", **one).sha256 == put(tmp_path / "other", **other).sha256


@pytest.mark.parametrize(("folder", "what"), [("nowhere", "no such folder"), (".", "no image in this folder")])
def test_a_folder_to_predict_without_images_is_refused(tmp_path, folder, what):
    with pytest.raises(InputError, match=what):
        read_folder(tmp_path / folder)


def test_a_machine_without_the_images_says_so(tmp_path):
    images = put(tmp_path, a="1", b="2")
    (tmp_path / "b.JPEG").unlink()
    with pytest.raises(InputError, match=r"1 image of 2 looked for not on this machine \(first: b.JPEG\)"):
        refuse_missing(images)


def test_symbolic_class_folders_are_followed_by_everyone(tmp_path):
    touch(tmp_path / "store", "tench/ILSVRC2012_val_00000007.JPEG")
    (tmp_path / "val").mkdir()
    (tmp_path / "val" / "n01440764").symlink_to(tmp_path / "store" / "tench")
    expected = "n01440764/ILSVRC2012_val_00000007.JPEG"
    assert image_files(tmp_path / "val") == [expected]
    assert files_of_rows(tmp_path / "val", IMAGES) == {6: expected}
    assert read_folder(tmp_path / "val").paths == (expected,)


def test_a_folder_that_leads_back_to_itself_ends(tmp_path):
    touch(tmp_path, "n01440764/a.JPEG")
    (tmp_path / "n01440764" / "up").symlink_to(tmp_path)
    assert image_files(tmp_path) == ["n01440764/a.JPEG"]


def test_a_folder_that_several_ways_lead_to_is_read_by_its_own_name(tmp_path):
    touch(tmp_path, "n01440764/a.JPEG")
    (tmp_path / "a link that sorts first").symlink_to(tmp_path / "n01440764")
    assert image_files(tmp_path) == ["n01440764/a.JPEG"]


def test_links_to_images_are_images_and_links_to_nowhere_are_said(tmp_path):
    touch(tmp_path, "store/x.JPEG", "val/a.JPEG")
    (tmp_path / "val" / "b.JPEG").symlink_to(tmp_path / "store" / "x.JPEG")
    assert image_files(tmp_path / "val") == ["a.JPEG", "b.JPEG"]
    (tmp_path / "val" / "c.JPEG").symlink_to(tmp_path / "gone.JPEG")
    with pytest.raises(InputError, match=r"1 image whose links lead nowhere \(first: 'c.JPEG'\)"):
        image_files(tmp_path / "val")


def test_a_name_that_is_no_text_is_said(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.JPEG")).touch()
    except OSError:
        pytest.skip("this file system has names of text only")
    with pytest.raises(InputError, match=r"1 image whose names are not UTF-8 .*Rename them"):
        image_files(tmp_path)


def test_hidden_folders_are_passed_over(tmp_path):
    touch(tmp_path, "a.JPEG", ".thumbnails/a.JPEG")
    assert image_files(tmp_path) == ["a.JPEG"]


def test_a_sample_has_so_many_of_each_class_and_is_always_the_same(tmp_path):
    wnids = ("n01440764", "n01443537")
    touch(tmp_path, *(f"{wnid}/{number}.JPEG" for wnid in wnids for number in range(9)), "n01484850/only.JPEG")
    images = labelled_images(tmp_path, imagenet_1k())
    sample = images.sample(3)
    assert np.bincount(sample.classes).tolist() == [3, 3, 1]
    assert sample.files == images.sample(3).files
    assert set(sample.files) < set(images.sample(4).files) < set(images.files)


def test_a_picture_that_claims_to_be_huge_is_damage_and_memory_that_runs_out_is_not(tmp_path, monkeypatch):
    from PIL import Image

    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = [struct.pack(">I", len(one) - 4) + one + struct.pack(">I", zlib.crc32(one)) for one in (header, b"IDATx")]
    (tmp_path / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    with pytest.raises(InputError, match=r"huge\.png: cannot be read as an image: Image size"):
        decoded(tmp_path / "huge.png")

    def starve(*_):
        raise MemoryError

    monkeypatch.setattr(Image, "open", starve)
    with pytest.raises(MemoryError):
        decoded(tmp_path / "huge.png")
