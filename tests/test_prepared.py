"""What took long to read is kept under the hash of what it was made of; a cache that is no good costs time only."""

import json
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from imagenet_errors import prepared as module
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.prepared import CACHE_VARIABLE, prepared, stamp
from imagenet_errors.problems import InputError
from imagenet_errors.readers import label_files
from imagenet_errors.readers.label_files import read_label_file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; nothing is too small for it."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(label_files, "_WORTH_PREPARING", 0)
    return tmp_path / "cache" / "prepared"


@pytest.fixture
def made():
    """How often the table was made, and what makes it."""

    class Made:
        times = 0

        def __call__(self):
            self.times += 1
            return pa.table({"number": [self.times]})

    return Made()


def test_a_table_is_made_once(cache, made):
    assert [prepared(["a", b"b"], made).to_pylist() for _ in range(3)] == [[{"number": 1}]] * 3
    assert made.times == 1


def test_what_is_made_of_something_else_is_another_table(cache, made):
    for made_of in (["ab", "c"], ["a", "bc"], ["ab"], ["ab", "c", ""]):
        prepared(made_of, made)
    assert made.times == 4


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda content: content[:-40], id="cut short"),
        pytest.param(lambda content: content[:50] + bytes([content[50] ^ 1]) + content[51:], id="a bit flipped"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"<html>" * 50, id="something else"),
    ],
)
def test_a_damaged_table_is_made_again(cache, made, spoil):
    prepared(["a"], made)
    (path,) = cache.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    assert prepared(["a"], made).to_pylist() == [{"number": 2}]
    assert prepared(["a"], made).to_pylist() == [{"number": 2}]


def test_where_nothing_can_be_kept_it_is_made_each_time(tmp_path, made, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    assert [prepared(["a"], made).num_rows for _ in range(2)] == [1, 1]
    assert made.times == 2


def test_several_at_once_leave_one_whole_table(cache):
    def make(_):
        return prepared(["a"], lambda: pa.table({"number": list(range(10_000))})).num_rows

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(make, range(40))) == {10_000}
    assert len(list(cache.iterdir())) == 1


def test_only_the_newest_are_kept(cache, monkeypatch, made):
    monkeypatch.setattr(module, "_MOST_KEPT", 3)
    for number in range(6):
        prepared([str(number)], made)
    assert len(list(cache.iterdir())) == 3


def test_a_stamp_tells_that_a_file_is_another(tmp_path):
    path = tmp_path / "code.py"
    path.write_text("one")
    before = stamp([path])
    path.write_text("two, longer")
    assert stamp([path]) != before


@pytest.fixture
def annotations(tmp_path):
    """An official file of two images."""
    images = {
        "ILSVRC2012_val_00000001.JPEG": {"correct": [imagenet_1k().wnids[65]], "unclear": [imagenet_1k().wnids[3]]},
        "ILSVRC2012_val_00000002.JPEG": {"correct": [imagenet_1k().wnids[970]]},
    }
    content = {"initial_annots": images, "problematic_images": {"ILSVRC2012_val_00000002.JPEG": "blurred"}}
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(content))
    return path


def test_labels_from_the_cache_are_those_of_the_file(cache, annotations, monkeypatch):
    first = read_label_file(annotations, imagenet_1k())
    monkeypatch.setattr(label_files, "_parsed", None)  # from here on nothing can be parsed
    second = read_label_file(annotations, imagenet_1k())
    assert first.names.equals(second.names)
    assert [first.accepted[row].tolist() for row in range(2)] == [second.accepted[row].tolist() for row in range(2)]
    assert sorted(first.accepted.values.tolist()) == [3, 65, 970]
    assert first.problematic.tolist() == second.problematic.tolist()
    assert (second.original, second.notes, dict(second.classes_of)) == (None, (), {})


def test_a_file_about_classes_comes_back_as_such(cache, tmp_path):
    path = tmp_path / "folder_to_class.json"
    path.write_text(json.dumps({"Chair": "barber chair; folding chair", "Alarm clock": "analog clock"}))
    first, second = (read_label_file(path, imagenet_1k()) for _ in range(2))
    assert first.is_of_classes
    assert dict(second.classes_of) == dict(first.classes_of)


def test_a_file_that_was_changed_is_read_again(cache, annotations):
    before = read_label_file(annotations, imagenet_1k())
    annotations.write_text(annotations.read_text().replace(imagenet_1k().wnids[970], imagenet_1k().wnids[971]))
    after = read_label_file(annotations, imagenet_1k())
    assert before.accepted.values.tolist() != after.accepted.values.tolist()


def test_a_file_that_changes_while_it_is_read_is_refused_and_not_kept(cache, annotations, monkeypatch):
    parse = label_files._parsed

    def changing(*arguments):
        told = parse(*arguments)
        annotations.write_text(annotations.read_text() + "\n")
        return told

    monkeypatch.setattr(label_files, "_parsed", changing)
    with pytest.raises(InputError, match="changed while it was read"):
        read_label_file(annotations, imagenet_1k())
    assert not cache.exists()
