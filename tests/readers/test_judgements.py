"""Human judgements are read as the panel wrote them, and every spelling has one meaning."""

import json

import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.judgements import ERROR_TYPE_OF_CATEGORY, read_judgements


def write(tmp_path, category="Non-prototypical", top_prediction=7, **others):
    row = {"top_prediction": top_prediction, "failure category": category, "failure severity": "Minor"}
    (tmp_path / "panel.json").write_text(json.dumps({"ILSVRC2012_val_00000001.JPEG": row | others}))
    return tmp_path / "panel.json"


@pytest.mark.parametrize(
    ("category", "error_type"),
    [
        pytest.param("Fine-grained error", "fine_grained", id="fine-grained"),
        pytest.param("Fine-grained with Multilabel Options", "fine_grained", id="the single one"),
        pytest.param("Fine-grained error with OOV", "fine_grained_oov", id="OOV"),
        pytest.param("Fine-grained with OOV", "fine_grained_oov", id="OOV, the other spelling"),
        pytest.param("Non-prototypical", "non_prototypical", id="non-prototypical"),
        pytest.param("Spurious Correlation", "spurious_correlation", id="spurious"),
    ],
)
def test_each_of_the_six_spellings_means_an_error_type(tmp_path, category, error_type):
    judged = read_judgements(write(tmp_path, category))
    assert judged.error_type == (error_type,)
    assert judged.category == (category,)
    assert (judged.file_names.to_pylist(), judged.prediction.tolist(), judged.severity) == (
        ["ILSVRC2012_val_00000001.JPEG"],
        [7],
        ("Minor",),
    )


@pytest.mark.parametrize("category", ["fine-grained error", "OOV", ""])
def test_any_other_spelling_is_refused_with_the_known_ones(tmp_path, category):
    with pytest.raises(InputError, match=f"unknown category .first: '{category}'.*Fine-grained with OOV"):
        read_judgements(write(tmp_path, category))


@pytest.mark.parametrize("top_prediction", [-1, 1000, 70_000])
def test_a_prediction_that_is_no_class_is_refused(tmp_path, top_prediction):
    with pytest.raises(InputError, match=f"1 judgement of an unknown class .first: {top_prediction}.*0 to 999"):
        read_judgements(write(tmp_path, top_prediction=top_prediction))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"a.JPEG": {"top_prediction": 1}}', id="keys missing"),
        pytest.param('{"a.JPEG": {"top_prediction": "1"', id="cut off"),
        pytest.param('["a.JPEG"]', id="a list"),
    ],
)
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "panel.json").write_text(text)
    with pytest.raises(InputError, match=r'not a file of human judgements: .*"failure category"'):
        read_judgements(tmp_path / "panel.json")


def test_the_panels_378_mistakes_of_vit_3b_are_read(shared):
    judged = read_judgements(shared / "human" / "vit3b_mistakes.json")
    assert len(judged.file_names) == 378
    assert set(judged.category) <= set(ERROR_TYPE_OF_CATEGORY)
    assert judged.error_type.count("non_prototypical") == 30
