"""What is heard: answers, remarks, the next step; what ``--quiet`` leaves; bars on terminals alone."""

import io
import json
import time

import pytest

from imagenet_errors.cli import screen


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def files(val_images, tmp_path):
    val_images.csv(tmp_path / "models" / "a.csv")
    return tmp_path / "models"


def evaluate(program, files, *more):
    return program("evaluate", files, "--allow-partial", "--out", files.parent / "a run", *more)


def test_the_last_line_says_what_to_look_at(program, files):
    last = evaluate(program, files).out.splitlines()[-1]
    assert last == f"Look: imagenet-errors report '{files.parent / 'a run'}'"


def test_an_earlier_run_is_said_to_be_replaced(program, files):
    assert "was replaced" not in evaluate(program, files).out
    assert f"The earlier run in {files.parent / 'a run'} was replaced." in evaluate(program, files).out
    assert json.loads(evaluate(program, files, "--json").out)["replaced_a_run"] is True


def test_a_pickle_in_a_folder_is_listed_as_skipped(program, files):
    (files / "b.pkl").write_bytes(b"\x80\x04")
    assert "Skipped 1 file of a kind that is not read from folders: b.pkl." in evaluate(program, files).err
    assert json.loads(evaluate(program, files, "--json").out)["skipped"] == [str(files / "b.pkl")]


@pytest.mark.parametrize("place", [0, 1, 3])
def test_quiet_says_nothing_where_nothing_failed(program, files, place):
    words = ["evaluate", files, "--allow-partial", "--out", files.parent / "run"]
    words.insert(place, "--quiet")
    answer = program(*words)
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert (files.parent / "run" / "run.json").is_file()


def test_quiet_still_says_what_failed_and_prints_json(program, files):
    (files / "b.csv").write_text("no predictions\n", encoding="utf-8")
    answer = evaluate(program, files, "--quiet")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("Not evaluated: ")
    assert json.loads(evaluate(program, files, "--quiet", "--json").out)["failures"]


def test_quiet_leaves_the_answer_of_a_command_that_only_prints(program):
    assert program("superclasses", "terriers", "--quiet").out == program("superclasses", "terriers").out


def test_quiet_behind_two_dashes_is_a_name(program):
    assert "--quiet: no such file" in program("evaluate", "--", "--quiet").err


def test_a_command_is_loud_again_after_a_quiet_one(program, files):
    evaluate(program, files, "--quiet")
    assert evaluate(program, files).out


def test_what_takes_long_shows_on_a_terminal_after_a_while(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(screen, "_PATIENCE_SECONDS", 0.01)
    with screen.waiting("Drawing"):
        time.sleep(0.3)
    assert "Drawing" in stream.getvalue()


def test_what_is_quick_shows_nothing(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with screen.waiting("Drawing"):
        pass
    assert stream.getvalue() == ""


def test_in_a_pipe_nothing_is_shown(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(screen, "_PATIENCE_SECONDS", 0.0)
    with screen.waiting("Drawing"):
        time.sleep(0.05)
    assert stream.getvalue() == ""
    assert list(screen.progress("Reading", [1, 2], 2)) == [1, 2]
