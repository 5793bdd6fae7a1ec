"""A folder's images are known by name and content, in one order."""

import pytest

from imagenet_errors.predict.images import read_folder, refuse_missing
from imagenet_errors.problems import InputError


def put(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".JPEG").write_text(content)
    return read_folder(folder)


def test_images_come_in_the_order_of_their_names_whatever_folder_they_are_in(tmp_path):
    images = put(tmp_path, n02__a="1", n01__b="2", c="3")
    assert images.names == ("a.JPEG", "b.JPEG", "c.JPEG")
    assert images.paths == ("n02/a.JPEG", "n01/b.JPEG", "c.JPEG")


def test_base_names_that_repeat_keep_their_folders(tmp_path):
    assert put(tmp_path, n01__a="1", n02__a="2").names == ("n01/a.JPEG", "n02/a.JPEG")


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
    assert put(tmp_path / "one", a="1", b="2").sha256 == put(tmp_path / "other", n1__a="1", n2__b="2").sha256


@pytest.mark.parametrize(("folder", "what"), [("nowhere", "no such folder"), (".", "no images in it")])
def test_a_folder_without_images_is_refused(tmp_path, folder, what):
    with pytest.raises(InputError, match=what):
        read_folder(tmp_path / folder)


def test_a_machine_without_the_images_says_so(tmp_path):
    images = put(tmp_path, a="1", b="2")
    (tmp_path / "b.JPEG").unlink()
    with pytest.raises(InputError, match=r"1 image of 2 looked for not on this machine \(first: b.JPEG\)"):
        refuse_missing(images)
