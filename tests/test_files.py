"""A folder of results is written whole or not at all."""

import pytest

from imagenet_errors.files import writing_folder
from imagenet_errors.problems import InputError


def test_files_appear_when_all_are_done(tmp_path):
    out = tmp_path / "a" / "out"
    with writing_folder(out) as folder:
        (folder / "x.txt").write_text("x")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["x.txt"]


def test_after_an_error_nothing_is_left(tmp_path):
    def half_done():
        with writing_folder(tmp_path / "out") as folder:
            (folder / "x.txt").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        half_done()
    assert list(tmp_path.iterdir()) == []


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "x.txt").write_text("old")
    with writing_folder(tmp_path) as folder:
        (folder / "x.txt").write_text("new")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "x.txt").read_text() == "new"


def test_a_file_in_the_folders_place_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"), writing_folder(tmp_path / "out"):
        pass


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), writing_folder(tmp_path / "file" / "out"):
        pass
