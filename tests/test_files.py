"""A folder of results is written whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from imagenet_errors.files import (
    csv_text,
    locked,
    remove_leftovers,
    staged_beside,
    write_whole,
    writing_folder,
    written_whole,
)
from imagenet_errors.problems import InputError

FULL = Path("/dev/full")


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


def test_a_file_is_not_there_before_it_is_whole(tmp_path):
    path = tmp_path / "a" / "file"
    with written_whole(path) as partial:
        partial.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    assert [*path.parent.iterdir()] == [path]


def test_temporary_names_cannot_be_guessed_nor_planted(tmp_path, monkeypatch):
    names = []
    for _ in range(2):
        with written_whole(tmp_path / "file") as partial:
            names.append(partial.name)
    assert names[0] != names[1]
    monkeypatch.setattr("secrets.token_hex", lambda _: "0" * 16)
    monkeypatch.setattr("imagenet_errors.files._is_left_behind", lambda _: False)
    trap = tmp_path / "elsewhere"
    (tmp_path / f"{names[1].rsplit('-', 1)[0]}-{'0' * 16}.partial").symlink_to(trap)
    with pytest.raises(FileExistsError), written_whole(tmp_path / "file"):
        pass
    assert not trap.exists()


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"file: cannot be written: No space left on device\. Make room"):
        write_whole(path, lambda file: file.write(b"new"), fix="Make room.")
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_really_full_disk_is_reported(tmp_path):
    if not FULL.exists():
        pytest.skip("no /dev/full to write to")

    def write(file):
        with FULL.open("wb", buffering=0) as full:
            full.write(b"x")

    with pytest.raises(InputError, match="No space left on device"):
        write_whole(tmp_path / "file", write)
    assert not [*tmp_path.iterdir()]


def test_a_folder_whose_disk_is_full_is_one_readable_line(tmp_path):
    def fill():
        with writing_folder(tmp_path / "out"):
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"out: cannot be written: No space left on device\. Choose another --out"):
        fill()


HALF_DONE = """
import os, signal, sys
from pathlib import Path
from imagenet_errors.files import staged_beside, written_whole
with staged_beside(Path(sys.argv[1]) / "run") as staged, written_whole(Path(sys.argv[1]) / "table") as partial:
    (staged / "verdicts").mkdir()
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    ended = subprocess.run([sys.executable, "-c", HALF_DONE, tmp_path], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len([*tmp_path.glob(".*.partial")]) == 2
    with staged_beside(tmp_path / "run"), written_whole(tmp_path / "table"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_what_is_being_written_and_what_is_not_ours_stays(tmp_path):
    (tmp_path / ".table.mine.partial").touch()
    with written_whole(tmp_path / "table") as partial:
        remove_leftovers(tmp_path, below=True)
        assert partial.exists()
    assert (tmp_path / ".table.mine.partial").exists()


def test_another_machines_unfinished_file_stays_for_a_day(tmp_path):
    theirs = tmp_path / f".table.00000000-1-{'a' * 16}.partial"
    theirs.touch()
    remove_leftovers(tmp_path)
    assert theirs.exists()
    os.utime(theirs, (0, 0))
    remove_leftovers(tmp_path)
    assert not theirs.exists()


LOCK = """
import sys
from pathlib import Path
from imagenet_errors.files import locked
with locked(Path(sys.argv[1])):
    pass
"""


def test_two_runs_do_not_work_in_one_place(tmp_path):
    command = [sys.executable, "-c", LOCK, tmp_path / "run"]
    with locked(tmp_path / "run"):
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        with locked(tmp_path / "run"):
            pass  # the same process may nest
    assert "another run is at work here. Wait for it to end, or choose another --out." in refused.stderr
    assert subprocess.run(command, check=False).returncode == 0
    assert [*tmp_path.iterdir()] == []


def test_a_lock_follows_links(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with locked(tmp_path / "link"):
        assert (tmp_path / ".run.lock").exists()


def test_names_of_any_length_and_with_wildcards_are_written(tmp_path):
    for name in ("x" * 250, "é" * 120, "a[1]*?.csv"):
        write_whole(tmp_path / name, b"1")
        assert (tmp_path / name).read_bytes() == b"1"


def test_a_whole_disk_is_no_place(tmp_path):
    with pytest.raises(InputError, match="is the whole disk"), writing_folder(Path("/")):
        pass


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-2+3", "@sum(a)", "\t=1", " =1", "\r=1", "-", "=", "＝1"])
def test_a_text_in_csv_is_no_formula(text):
    import csv

    ((cell,),) = csv.reader([csv_text([[text]])])
    assert cell == f"'{text}".replace("\r", " ")


@pytest.mark.parametrize("cell", ["-0.5", "+1", "1e-3", "-1e-05", "resnet50", "a=b", "", -0.5, 7])
def test_numbers_and_plain_texts_stay(cell):
    assert csv_text([[cell]]).strip('"\n') == str(cell)
