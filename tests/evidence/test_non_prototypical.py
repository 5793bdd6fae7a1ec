"""Which images are known to be non-prototypical: human judgements, or a plain list of names."""

import json

import pyarrow as pa
import pytest

from imagenet_errors.evidence.non_prototypical import read_non_prototypical
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError

NAMES = [f"ILSVRC2012_val_0000000{n}.JPEG" for n in (1, 2, 3)]
IMAGES = ImageIndex(pa.array(NAMES))


def write(tmp_path, content, name="list.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def judgements(*categories):
    rows = [{"top_prediction": 1, "failure category": category, "failure severity": "Minor"} for category in categories]
    return json.dumps(dict(zip(NAMES, rows, strict=True)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"{NAMES[1]}\n", id="a name a line"),
        pytest.param("val\\ILSVRC2012_val_00000002.jpg\r\n\r\n", id="written in another way"),
        pytest.param(f"\ufefffile_name\n{NAMES[1]}", id="header, byte order mark"),
        pytest.param(json.dumps([NAMES[1]]), id="JSON list"),
        pytest.param(f"{NAMES[1]}\n{NAMES[1]}\n", id="named twice"),
        pytest.param(judgements("Fine-grained error", "Non-prototypical", "Spurious Correlation"), id="panel"),
    ],
)
def test_listed_images_are_found(tmp_path, content):
    found = read_non_prototypical([write(tmp_path, content)], IMAGES)
    assert found.is_listed.tolist() == [False, True, False]
    assert found.unknown == ()


def test_several_lists_add_up_and_unknown_names_are_counted(tmp_path):
    lists = [write(tmp_path, f"{NAMES[0]}\ncat.jpg\n", "a.txt"), write(tmp_path, NAMES[2], "b.txt")]
    found = read_non_prototypical(lists, IMAGES)
    assert (found.is_listed.tolist(), len(found.unknown)) == ([True, False, True], 1)


def test_judgements_without_a_non_prototypical_one_list_nothing(tmp_path):
    found = read_non_prototypical([write(tmp_path, judgements(*["Spurious Correlation"] * 3))], IMAGES)
    assert not found.is_listed.any()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("file_name\n", "no image names in it", id="header alone"),
        pytest.param("cat.jpg\ndog.jpg\n", r"none of its 2 images is annotated \(first: cat.jpg\)", id="others"),
        pytest.param(b"\xff\xfe\x00", "UTF-16 text", id="bytes"),
        pytest.param("[1, 2]", "no column of image names", id="JSON numbers"),
        pytest.param('{"a": 1}', "none of its 1 images is annotated", id="other JSON"),
    ],
)
def test_a_file_that_lists_no_image_is_refused(tmp_path, content, said):
    with pytest.raises(InputError, match=f"list.txt: .*{said}"):
        read_non_prototypical([write(tmp_path, content)], IMAGES)


def test_the_panel_calls_30_of_vit_3bs_mistakes_non_prototypical(shared):
    path = shared / "human" / "vit3b_mistakes.json"
    names = sorted(json.loads(path.read_text()))
    found = read_non_prototypical([path], ImageIndex(pa.array(names)))
    assert (int(found.is_listed.sum()), len(found.unknown)) == (30, 0)
