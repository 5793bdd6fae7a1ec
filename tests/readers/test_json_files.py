"""JSON in every shape that people save predictions in."""

import json
from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.assemble import read_columns
from imagenet_errors.readers.json_files import read_json
from imagenet_errors.readers.opened import Opened
from imagenet_errors.readers.scores import reduce_scores
from timm_files import LEMMAS, NAMES, TOP1, TOP1_PROBS, WRITERS, probabilities, timm_frame

A, B = "n01440764/a.JPEG", "n01443537/b.JPEG"
KERAS = [
    [["n01440764", "tench", 0.4], ["n01443537", "goldfish", 0.4]],
    [["n01443537", "goldfish", 0.9], ["x", "y", 0.1]],
]
PIPELINE = [
    [{"label": "LABEL_65", "score": 0.9}, {"label": "tench, Tinca tinca", "score": 0.1}],
    [{"label": "crane2", "score": 0.6}, {"label": "LABEL_65", "score": 0.4}],
]


def read(content, **how):
    text = content if isinstance(content, str) else json.dumps(content)
    return read_columns(read_json(Opened(Path("model.json"), memoryview(text.encode())), {}), **how)


def rows(raw):
    """Return names, indices and texts, None where the file holds none."""
    listed = (None if part is None else part.tolist() for part in (raw.names, raw.index, raw.text))
    return tuple(listed)


@pytest.mark.parametrize("written", ["json", "json-split", "json lines"])
@pytest.mark.parametrize(
    "variant", [{}, {"topk": 5}, {"topk": 5, "separate": True}], ids=["default", "top-5", "top-5 in columns"]
)
def test_timm_json_gives_the_top1(tmp_path, written, variant):
    path = tmp_path / "model.json"
    WRITERS[written](timm_frame(probabilities(), index=True, **variant), path)
    raw = read_raw(path)
    assert rows(raw) == (list(NAMES), [*TOP1], [*LEMMAS[[*TOP1]]])
    np.testing.assert_allclose(raw.confidence, TOP1_PROBS, rtol=1e-6)


@pytest.mark.parametrize("written", ["json", "json-split", "json lines"])
def test_timm_json_of_every_output(tmp_path, written):
    path = tmp_path / "model.json"
    WRITERS[written](timm_frame(probabilities(1000), topk=0), path)
    assert tuple(reduce_scores(read_raw(path)).index) == TOP1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param({A: 65, B: 3}, ([A, B], [65, 3], None), id="name to index"),
        pytest.param({A: "n01440764", B: "crane"}, ([A, B], None, ["n01440764", "crane"]), id="name to label"),
        pytest.param({A: [65, 3], B: [3, 65]}, ([A, B], [65, 3], None), id="name to ranked classes"),
        pytest.param({A: ["x", "y"], B: ["y", "x"]}, ([A, B], None, ["x", "y"]), id="name to ranked labels"),
        pytest.param(
            {A: {"index": 65, "label": "sea snake", "prob": 0.5}},
            ([A], [65], ["sea snake"]),
            id="name to record",
        ),
        pytest.param({A: PIPELINE[0]}, ([A], None, ["LABEL_65"]), id="name to pipeline output"),
        pytest.param({A: KERAS[1]}, ([A], None, ["n01443537"]), id="name to decoded predictions"),
        pytest.param(
            {A: {"top_prediction": 65, "failure category": "Fine-grained", "failure severity": "Major"}},
            ([A], [65], None),
            id="imagenet-mistakes judgements",
        ),
        pytest.param([{"file": A, "pred": 65}, {"file": B, "pred": 3}], ([A, B], [65, 3], None), id="records"),
        pytest.param([[A, 65], [B, 3]], ([A, B], [65, 3], None), id="pairs"),
        pytest.param({"file_name": [A, B], "prediction": [65, 3]}, ([A, B], [65, 3], None), id="by column"),
        pytest.param({"file_name": {"0": A}, "prediction": {"0": 65}}, ([A], [65], None), id="pandas' default"),
        pytest.param({"columns": ["f", "pred"], "data": [[A, 65]]}, ([A], [65], None), id="split"),
        pytest.param(
            {"columns": ["pred"], "index": [A, B], "data": [[65], [3]]},
            ([A, B], [65, 3], None),
            id="split, named",
        ),
        pytest.param({"predictions": {A: 65, B: 3}}, ([A, B], [65, 3], None), id="wrapped"),
        pytest.param([65, 3], (None, [65, 3], None), id="classes alone"),
        pytest.param(PIPELINE, (None, None, ["LABEL_65", "crane2"]), id="Hugging Face pipeline"),
        pytest.param(KERAS, (None, None, ["n01440764", "n01443537"]), id="Keras, a tie keeps the first"),
    ],
)
def test_shapes(content, expected):
    assert rows(read(content)) == expected


def test_ranked_records_keep_the_score_of_the_first():
    assert read(PIPELINE).confidence.tolist() == [np.float32(0.9), np.float32(0.6)]


def test_names_with_scores_for_every_class_are_reduced_with_ties_counted():
    reduced = reduce_scores(read({A: [0.4, 0.4, 0.2], B: [0.1, 0.2, 0.7]}))
    assert (reduced.index.tolist(), reduced.n_ties) == ([0, 2], 1)


def test_json_lines_are_read_with_the_union_of_their_keys():
    raw = read('{"file": "a.JPEG", "pred": 65}\n\n{"file": "b.JPEG", "error": "out of memory"}\n')
    assert rows(raw) == (["a.JPEG", "b.JPEG"], [65, -1], None)
    assert raw.invalid["no class given"].tolist() == [1]


def test_nan_is_a_value_and_null_is_none():
    raw = read('{"a.JPEG": {"index": 0, "prob": NaN}, "b.JPEG": {"index": 3, "prob": 0.5}}')
    assert raw.invalid["the confidence is NaN"].tolist() == [0]


def test_a_name_twice_with_two_classes_is_refused():
    with pytest.raises(InputError, match=r"twice with different values \(first: a\.JPEG\)"):
        read('{"a.JPEG": 65, "b.JPEG": 1, "a.JPEG": 3}')


def test_a_name_twice_with_the_same_class_is_kept_once_and_said():
    raw = read('{"a.JPEG": 65, "b.JPEG": 1, "a.JPEG": 65}')
    assert rows(raw) == (["a.JPEG", "b.JPEG"], [65, 1], None)
    assert "1 key repeated" in raw.notes[0]


def test_numbers_and_texts_in_one_column_are_read_as_written():
    assert rows(read({A: 65, B: "3"})) == ([A, B], [65, 3], None)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param('{"a.JPEG": 65, "b.J', r"breaks off or is wrong in line 1.*\(first: ", id="cut short"),
        pytest.param('{"f": "a", "pred": 1}\n{"f": "b", "pr', "in line 2", id="lines cut short"),
        pytest.param("[" * 100_000, "nested too deeply", id="nested too deeply"),
        pytest.param({}, "no rows in any known shape", id="empty object"),
        pytest.param([], "no rows in any known shape", id="empty list"),
        pytest.param([[], [[]], None], "no column tells the predicted class", id="empty lists"),
        pytest.param({A: 65.5, B: 3}, "row 1: 65.5", id="a fraction for a class"),
        pytest.param({A: [1, 2], B: [3]}, r"different lengths.*row 2 has 1", id="accepted labels"),
        pytest.param({"columns": ["a", "b"], "data": [[1, 2], [3]]}, "row 2 does not have 2", id="ragged split"),
        pytest.param({"initial_annots": {}}, "annotations, not predictions", id="multi-label annotations"),
        pytest.param({"model": "vit", "top1": 80.1}, "a model's accuracy", id="one validation result"),
        pytest.param([{"model": "vit", "top1": 80.1}], "table of accuracies", id="validation results"),
        pytest.param([A, B], r"only image names.*--row-order", id="a row order"),
    ],
)
def test_what_is_no_prediction_is_refused(content, told):
    with pytest.raises(InputError, match=told):
        read(content)
