"""``why`` walks one case through all stages and agrees with the verdict that was written."""

import json

import numpy as np
import pandas as pd
import pytest

from imagenet_errors.chain import DEFAULT_ORDER


@pytest.fixture
def run(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv", at_3="")
    one = val_images.csv(tmp_path / "one.csv", at_0=999, at_1=998)
    two = val_images.csv(tmp_path / "two.csv", at_0=999, at_1=997, header="file_name,predicted_class")
    assert program("evaluate", one, two, "--annotations", annotations, "--out", tmp_path / "run").status == 0
    return tmp_path / "run"


def walks(program, *arguments):
    answer = program("why", *arguments, "--json")
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


def test_every_stage_answers_passed_or_not(program, run, val_images):
    (walk,) = walks(program, run, val_images.names[0])
    assert {answer["stage"] for answer in walk["answers"]} == {"correct", *DEFAULT_ORDER}
    assert all(answer["says"] for answer in walk["answers"])
    assert {answer["stage"] for answer in walk["answers"] if answer["answer"] == "not run"} == {
        "fine_grained_oov",
        "non_prototypical",
    }


def test_evidence_that_has_nothing_on_the_case_is_no_answer(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    one = val_images.csv(tmp_path / "one.csv", at_0=999, at_1=998)
    evidence = tmp_path / "oov.csv"
    evidence.write_text(f"file_name,prediction,is_oov\n{val_images.names[1]},998,False\n", encoding="utf-8")
    given = ("--annotations", annotations, "--oov-evidence", evidence, "--out", tmp_path / "run")
    assert program("evaluate", one, *given).status == 0
    for row, expected, explains in ((0, "unknown", None), (1, "no", False)):
        (walk,) = walks(program, tmp_path / "run", val_images.names[row])
        (answer,) = [answer for answer in walk["answers"] if answer["stage"] == "fine_grained_oov"]
        assert (answer["answer"], answer["explains"]) == (expected, explains)


def test_models_that_agree_share_one_walk(program, run, val_images):
    (walk,) = walks(program, run, val_images.names[0])
    assert list(walk["models"]) == ["one", "two"]


def test_models_that_disagree_have_one_each_and_can_be_chosen(program, run, val_images):
    assert len(walks(program, run, val_images.names[1])) == 2
    (walk,) = walks(program, run, val_images.names[1], "--model", "two")
    assert list(walk["models"]) == ["two"]


def test_the_walk_ends_at_the_written_verdict(program, run, val_images):
    verdicts = pd.read_parquet(run / "verdicts" / "one.parquet").set_index("file_name")
    wrong = np.flatnonzero(val_images.top1 != val_images.label)
    for name in [val_images.names[row] for row in wrong[wrong > 3][:8]]:
        (walk,) = walks(program, run, name, "--model", "one")
        assert walk["error_type"] == verdicts.loc[name, "error_type"]
        assert walk["explanation"] == verdicts.loc[name, "explanation"]


def test_a_correct_prediction_is_called_correct(program, run, val_images):
    row = int(np.flatnonzero(val_images.top1 == val_images.label)[5])
    (walk,) = walks(program, run, val_images.names[row], "--model", "one")
    assert walk["error_type"] == "correct"


def test_people_see_the_same(program, run, val_images):
    answer = program("why", run, val_images.names[0])
    assert "toilet tissue" in answer.out
    assert "verdict: " in answer.out
    assert "not run" in answer.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("ILSVRC2012_val_00049999.JPEG",), "is not an annotated image", id="unknown image"),
        pytest.param(("AT_3",), "excluded from every figure: no accepted label", id="excluded image"),
        pytest.param(("AT_0", "--model", "three"), "no model 'three' in this run", id="unknown model"),
    ],
)
def test_what_cannot_be_shown_is_said(program, run, val_images, arguments, message):
    names = {"AT_0": val_images.names[0], "AT_3": val_images.names[3]}
    answer = program("why", run, *[names.get(argument, argument) for argument in arguments])
    assert answer.status == 2
    assert message in answer.err


def test_a_folder_without_a_run_is_refused(program, tmp_path):
    answer = program("why", tmp_path, "ILSVRC2012_val_00000001.JPEG")
    assert answer.status == 2
    assert "not a run directory" in answer.err


def test_an_input_that_is_gone_is_named(program, run, val_images, tmp_path):
    (tmp_path / "annotations.csv").unlink()
    answer = program("why", run, val_images.names[0])
    assert answer.status == 2
    assert "annotations.csv: no such file, by which the run was judged. Put it back there" in answer.err


@pytest.fixture
def project(program, tmp_path):
    """A folder with predictions, labels, classes and a run below it, moved to another place as a whole."""
    home = tmp_path / "first"
    home.mkdir()
    (home / "classes.csv").write_text("index,name\n0,cat\n1,dog\n2,bus\n")
    (home / "labels.csv").write_text("file_name,label,labels\na.jpg,0,0 1\nb.jpg,2,2\n")
    (home / "m.csv").write_text("file_name,prediction\na.jpg,1\nb.jpg,2\n")
    own = ("--classes", home / "classes.csv", "--annotations", home / "labels.csv")
    assert program("evaluate", home / "m.csv", *own, "--out", home / "runs" / "m").status == 0
    return home.rename(tmp_path / "second place")


def test_a_run_that_moved_with_its_labels_and_classes_finds_them(program, project):
    (walk,) = walks(program, project / "runs" / "m", "a.jpg")
    assert (walk["label"], walk["prediction"], walk["error_type"]) == ("cat", "dog", "multi_object")
    assert program("report", project / "runs" / "m").status == 0


def test_another_file_of_that_name_is_not_taken_for_it(program, project):
    (project / "labels.csv").write_text("file_name,label,labels\na.jpg,1,1\nb.jpg,2,2\n")
    assert "labels.csv: no such file" in program("why", project / "runs" / "m", "a.jpg").err
