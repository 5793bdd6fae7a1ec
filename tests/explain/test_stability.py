"""The same picture framed otherwise."""

import numpy as np
import pytest

from explain_world import GREEN, RED, SIDE, classifier_of
from imagenet_errors.explain.job import ModelGroup
from imagenet_errors.explain.questions import Question
from imagenet_errors.explain.stability import Stability, read_boxes, shares_of
from imagenet_errors.problems import InputError


def test_the_shares_of_draws_that_stay_are_right_or_wrong_in_another_way():
    row = {
        "prediction": 7,
        "error_type": "model_failure",
        "answers": [7, 7, 3, 4, 5],
        "answer_types": ["model_failure", "model_failure", "correct", "multi_object", "fine_grained"],
    }
    assert shares_of(row) == {"share_stays": 0.4, "share_right": 0.4, "share_other_type": 0.2, "verdict": "framing"}


def test_four_fifths_that_stay_are_stable():
    row = {
        "prediction": 7,
        "error_type": "fine_grained",
        "answers": [7] * 4 + [1],
        "answer_types": ["fine_grained"] * 5,
    }
    assert shares_of(row)["verdict"] == "stable"


@pytest.fixture
def folder(tmp_path):
    from PIL import Image

    colours = np.full((SIDE, SIDE, 3), 128, dtype=np.uint8)
    colours[:8, :, 0] = 255
    colours[8:, :, 1] = 180
    Image.fromarray(colours).save(tmp_path / "two.png")
    return tmp_path


def test_every_draw_is_asked_and_the_box_too(folder):
    boxes = folder / "boxes.csv"
    boxes.write_text("file_name,x0,y0,x1,y1\ntwo.png,0,0,32,8\n", encoding="utf-8")
    question = Question("two.png", "two.png", GREEN, GREEN, (GREEN,), "correct")
    method = Stability(n_crops=3, n_colours=2, boxes=boxes)
    ((row,),) = method.rows(ModelGroup(classifier_of(), (), folder), [question])
    assert row["kinds"] == ["flip", "crop", "crop", "crop", "colour", "colour"]
    assert row["answers"][0] == GREEN
    assert row["box_answer"] == RED
    row |= {"file_name": "two.png", "prediction": GREEN, "error_type": "correct"}
    method.finish([row], lambda names, classes: ["correct" if each == GREEN else "model_failure" for each in classes])
    assert row["box_type"] == "model_failure"
    assert row["share_right"] == row["answer_types"].count("correct") / 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("file_name,x0,y0,x1\n", "no column y1", id="a column lacks"),
        pytest.param("file_name,x0,y0,x1,y1\na.png,5,0,5,9\n", "without area", id="no area"),
        pytest.param("file_name,x0,y0,x1,y1\na.png,one,0,5,9\n", "without area", id="no number"),
    ],
)
def test_boxes_that_are_none_are_refused(tmp_path, text, message):
    (tmp_path / "b.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_boxes(tmp_path / "b.csv")
