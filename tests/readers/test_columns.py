"""Which column plays which role, by header and by content; what is uncertain is asked, not guessed."""

import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.columns import choose_roles, image_names
from imagenet_errors.readers.fields import fields_of

IMAGES = ["a.JPEG", "b.JPEG"]
CLASSES = [65, 970]
OTHER = [3, 4]
TOP2 = [[65, 1], [970, 2]]
TEXTS = ["sea snake", "alp"]
WNIDS = ["n01751748", "n09193705"]
PROBS = [0.5, 0.25]


def roles(table, columns=None, **how):
    arrays = [pa.array(values) for values in table.values()]
    fields = fields_of(list(table), arrays, where="model.csv")
    return choose_roles(fields, where="model.csv", columns=columns, **how)


def headers(chosen):
    named = {role: getattr(chosen, role) for role in ("name", "index", "label", "confidence", "scores")}
    return {role: field.header for role, field in named.items() if field is not None}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param(
            {"filename": IMAGES, "index": CLASSES, "label": TEXTS, "prob": PROBS},
            {"name": "filename", "index": "index", "label": "label", "confidence": "prob"},
            id="timm",
        ),
        pytest.param(
            {"file_name": IMAGES, "predicted_class": CLASSES, "predicted_probability": PROBS},
            {"name": "file_name", "index": "predicted_class", "confidence": "predicted_probability"},
            id="ImageNet-X",
        ),
        pytest.param(
            {"file_name": IMAGES, "prediction": CLASSES, "top_proposals": [[58.5, 2.0], [57.0, 3.0]]},
            {"name": "file_name", "index": "prediction"},
            id="lists beside a single class are no confidence",
        ),
        pytest.param(
            {"image": IMAGES, "wnid": WNIDS, "score": PROBS},
            {"name": "image", "label": "wnid", "confidence": "score"},
            id="wnids are labels",
        ),
        pytest.param(
            {"path": IMAGES, "pred_index": CLASSES, "pred_label": TEXTS},
            {"name": "path", "index": "pred_index", "label": "pred_label"},
            id="index and text of the prediction",
        ),
        pytest.param({"index": CLASSES, "wnid": WNIDS}, {"index": "index", "label": "wnid"}, id="no names"),
        pytest.param(
            {"wnid": WNIDS, "name": TEXTS, "score": PROBS},
            {"label": "wnid", "confidence": "score"},
            id="a name that is no image name is no image name",
        ),
        pytest.param({"id": [1, 2], "pred": CLASSES}, {"name": "id", "index": "pred"}, id="numbered images"),
        pytest.param(
            {"filename": IMAGES, "label": ["65", "970"]},
            {"name": "filename", "index": "label"},
            id="a label of numbers is an index",
        ),
        pytest.param(
            {"foo": IMAGES, "bar": CLASSES, "baz": PROBS},
            {"name": "foo", "index": "bar", "confidence": "baz"},
            id="by content alone",
        ),
        pytest.param({"": IMAGES, "pred": CLASSES}, {"name": "", "index": "pred"}, id="pandas index without a name"),
        pytest.param(
            {"__index_level_0__": [0, 1], "filename": IMAGES, "label": TEXTS},
            {"name": "filename", "label": "label"},
            id="pandas row numbers are no class",
        ),
        pytest.param(
            {"filename": IMAGES, "top1": CLASSES, "top5": [[65, 1], [970, 2]]},
            {"name": "filename", "index": "top1"},
            id="top1 beside top5",
        ),
        pytest.param(
            {"filename": IMAGES, "label": TEXTS, "wnid": WNIDS},
            {"name": "filename", "label": "wnid"},
            id="a wnid is the exact label",
        ),
        pytest.param(
            {"filename": IMAGES, "pred": CLASSES, "prediction": CLASSES},
            {"name": "filename", "index": "pred"},
            id="two columns that agree are one",
        ),
        pytest.param(
            {"filename": IMAGES, "pred": CLASSES, "logit": [5.0, 7.5], "prob": PROBS},
            {"name": "filename", "index": "pred", "confidence": "prob"},
            id="a probability before a logit",
        ),
    ],
)
def test_roles_are_found(table, expected):
    assert headers(roles(table)) == expected


@pytest.mark.parametrize("truth", ["target", "true", "y_true", "gt", "ground_truth", "true_label", "label", "class"])
def test_the_ground_truth_is_never_the_prediction_and_that_is_said(truth):
    chosen = roles({"filename": IMAGES, truth: OTHER, "pred": CLASSES})
    assert chosen.index.header == "pred"
    assert f"Column {truth!r}" in chosen.notes[0]
    assert "not read as the prediction" in chosen.notes[0]


def test_a_ground_truth_alone_is_no_prediction():
    with pytest.raises(InputError, match=r"no column tells the predicted class: 'filename', 'target'"):
        roles({"filename": IMAGES, "target": CLASSES})


def test_row_numbers_called_index_are_left_out_and_that_is_said():
    many = [f"{i}.JPEG" for i in range(12)]
    chosen = roles({"index": list(range(12)), "image": many, "class_id": [7] * 12})
    assert chosen.index.header == "class_id"
    assert "Column 'index' counts the rows" in chosen.notes[0]


@pytest.mark.parametrize(
    ("table", "role"),
    [
        pytest.param({"filename": IMAGES, "pred": CLASSES, "prediction": OTHER}, "index", id="two indices"),
        pytest.param({"filename": IMAGES, "label": TEXTS, "category": TEXTS[::-1]}, "label", id="two labels"),
        pytest.param({"filename": IMAGES, "file_name": IMAGES[::-1], "pred": CLASSES}, "name", id="two names"),
        pytest.param(
            {"filename": IMAGES, "pred": CLASSES, "prob": PROBS, "confidence": PROBS[::-1]},
            "confidence",
            id="two probs",
        ),
    ],
)
def test_two_columns_with_an_equal_right_are_asked_about(table, role):
    with pytest.raises(InputError, match=rf"2 columns may be the {role}: .*--column {role}=NAME"):
        roles(table)


@pytest.mark.parametrize(
    ("table", "claims"),
    [
        pytest.param({"foo": IMAGES, "bar": CLASSES, "baz": OTHER}, ["bar", "baz"], id="two by content"),
        pytest.param({"filename": IMAGES, "label": OTHER, "resnet50": CLASSES}, ["label", "resnet50"], id="the truth?"),
        pytest.param({"f": IMAGES, "label": TEXTS, "vit": CLASSES}, ["label", "vit"], id="a label of texts"),
        pytest.param(
            {"label": TEXTS, "wnid": WNIDS, "vit": CLASSES}, ["wnid", "vit"], id="by the wnid, if there is one"
        ),
        pytest.param({"f": IMAGES, "vit": TOP2, "resnet": TOP2[::-1]}, ["vit", "resnet"], id="two models' top-2"),
        pytest.param({"label": OTHER, "vit": ["[65]", "[970]"]}, ["label", "vit"], id="lists of one"),
        pytest.param({"label": OTHER, "vit": [[65], [970, 2]]}, [], id="lists of different lengths are no model's"),
        pytest.param({"label": OTHER, "vit_0": CLASSES, "vit_1": CLASSES[::-1]}, [], id="a family is no model's"),
        pytest.param({"f": IMAGES, "class_0": CLASSES, "class_1": CLASSES[::-1]}, [], id="ranks are one claim"),
        pytest.param({"f": IMAGES, "class_0": CLASSES, "class_1": [65, 2]}, ["class_0", "class_1"], id="no ranks"),
    ],
)
def test_columns_that_may_all_state_the_class_are_kept_for_the_labels_to_decide(table, claims):
    chosen = roles(table)
    assert [claim.header for claim in chosen.claims] == claims
    assert (chosen.index is None and chosen.label is None) == bool(claims)


def test_every_column_that_plays_no_role_is_named():
    chosen = roles({"filename": IMAGES, "pred": CLASSES, "height": [3, 4], "camera": ["x", "y"]})
    assert chosen.notes == ("Not used: columns 'height', 'camera'.",)


def test_what_the_user_states_is_taken():
    table = {"a": IMAGES, "b": IMAGES[::-1], "pred": OTHER, "target": CLASSES}
    chosen = roles(table, {"name": "b", "index": "target"})
    assert headers(chosen) == {"name": "b", "index": "target"}


def test_a_family_goes_by_what_its_headers_share():
    table = {"filename": IMAGES, "x_0": PROBS, "x_1": PROBS[::-1]}
    assert headers(roles(table, {"scores": "x"}))["scores"] == "x_0..x_1"


@pytest.mark.parametrize(("n", "end"), [(12, "'class_11'"), (13, "'class_11', ...")])
def test_of_many_columns_the_first_twelve_are_named(n, end):
    with pytest.raises(InputError) as refused:
        roles({f"class_{number}": CLASSES for number in range(n)}, {"index": "nope"})
    assert refused.value.what.endswith(end)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"index": "nope"}, "no columns 'nope' among: 'filename', 'pred'"),
        ({"colour": "pred"}, "no role 'colour'"),
    ],
)
def test_a_stated_column_or_role_that_is_not_there_is_refused(columns, told):
    with pytest.raises(InputError, match=told):
        roles({"filename": IMAGES, "pred": CLASSES}, columns)


def test_numbers_for_every_class_are_scores_and_a_label_beside_them_is_the_truth():
    chosen = roles({"filename": IMAGES, "label": CLASSES, "logits": [[0.1] * 200, [0.2] * 200]})
    assert headers(chosen) == {"name": "filename", "scores": "logits"}
    assert "'label' was not read as the prediction" in chosen.notes[0]


def test_as_many_numbers_as_ranked_classes_are_their_confidences():
    table = {"filename": IMAGES, "index_0": [3, 1], "index_1": [2, 5], "prob_0": PROBS, "prob_1": [0.2, 0.1]}
    assert headers(roles(table)) == {
        "name": "filename",
        "index": "index_0..index_1",
        "confidence": "prob_0..prob_1",
    }


def test_a_number_taken_for_the_confidence_is_named_where_it_has_a_name():
    told = "Column 'how sure' was taken for the confidence by what it holds."
    assert told in roles({"filename": IMAGES, "prediction": CLASSES, "how sure": PROBS}).notes
    unnamed = roles({"column 1": IMAGES, "column 2": CLASSES, "column 3": PROBS})
    assert headers(unnamed)["confidence"] == "column 3"
    assert not any("confidence" in note for note in unnamed.notes)


def test_a_few_falling_numbers_without_classes_are_refused():
    with pytest.raises(InputError, match=r"largest values of each row without their classes.*--include-index"):
        roles({"filename": IMAGES, "prob_0": PROBS, "prob_1": [0.2, 0.1]})


def test_a_table_of_accuracies_is_refused_with_an_explanation():
    with pytest.raises(InputError, match=r"table of accuracies.*inference\.py"):
        roles({"model": ["resnet50", "vit"], "top1": [80.1, 85.0], "top1_err": [19.9, 15.0]})


def test_a_table_of_several_models_is_refused():
    with pytest.raises(InputError, match=r"several models \(first: vit\)\. Write one file a model"):
        roles({"model": ["vit", "resnet50"], "file_name": IMAGES, "prediction": CLASSES})


def test_image_names_alone_are_a_row_order():
    with pytest.raises(InputError, match=r"only image names.*--row-order"):
        roles({"column 1": IMAGES})


@pytest.mark.parametrize(
    ("table", "header"),
    [
        pytest.param({"note": TEXTS, "file_name": IMAGES}, "file_name", id="by its header"),
        pytest.param({"sample": CLASSES, "where": TEXTS}, "sample", id="numbers of samples"),
        pytest.param({"size": CLASSES, "where": TEXTS}, "where", id="the only texts"),
        pytest.param({"where": TEXTS, "what": TEXTS[::-1]}, None, id="two columns of texts"),
        pytest.param({"where_0": TEXTS, "where_1": TEXTS[::-1]}, None, id="a family of texts"),
    ],
)
def test_the_names_in_a_list_of_images_are_called_so_or_the_only_texts(table, header):
    fields = fields_of(list(table), [pa.array(values) for values in table.values()], where="val.csv")
    found = image_names(fields, "val.csv")
    assert (None if found is None else found.header) == header


def test_no_class_is_needed_where_the_scores_lie_apart():
    assert headers(roles({"file_names": IMAGES}, scores_apart=True)) == {"name": "file_names"}


def test_a_stated_label_is_not_overridden_by_another_column_of_classes():
    for other in ({"pred": CLASSES}, {"predicted_class": CLASSES}, {"class": CLASSES}):
        chosen = roles({"filename": IMAGES, **other, "mine": TEXTS}, {"label": "mine"})
        assert chosen.label.header == "mine"
        assert chosen.index is None, "what was not stated has no say"


def test_a_class_beside_a_model_is_the_prediction():
    chosen = roles({"filename": IMAGES, "model": ["vit", "vit"], "prediction": CLASSES})
    assert headers(chosen)["index"] == "prediction"


@pytest.mark.parametrize("first", [0, 1])
def test_classes_that_count_the_rows_are_still_classes_where_no_other_column_states_them(first):
    names = [f"{row}.JPEG" for row in range(12)]
    counting = list(range(first, first + 12))
    assert headers(roles({"filename": names, "class": counting})) == {"name": "filename", "index": "class"}
    assert headers(roles({"index": counting, "class": counting[::-1]})) == {"index": "class"}


ONE_HOT = [[int(place == index % 200) for place in range(200)] for index in CLASSES]
LOGITS = [[0.1] * 200, [0.2] * 200]


@pytest.mark.parametrize("truth", ["target", "y_true", "ground_truth", "label", "labels"])
def test_a_one_hot_truth_beside_a_prediction_gives_neither_class_nor_confidence(truth):
    chosen = roles({"filename": IMAGES, truth: ONE_HOT, "pred": CLASSES})
    assert headers(chosen) == {"name": "filename", "index": "pred"}
    assert f"{truth!r}" in " ".join(chosen.notes)


@pytest.mark.parametrize("truth", ["target", "y_true", "ground_truth"])
def test_a_one_hot_truth_beside_scores_is_not_the_scores(truth):
    assert headers(roles({"filename": IMAGES, truth: ONE_HOT, "logits": LOGITS}))["scores"] == "logits"
    with pytest.raises(InputError, match="no column tells the predicted class"):
        roles({"filename": IMAGES, truth: ONE_HOT})


def test_a_one_hot_truth_leaves_a_models_column_to_be_found():
    assert headers(roles({"filename": IMAGES, "target": ONE_HOT, "resnet50": CLASSES}))["index"] == "resnet50"


def test_a_one_hot_label_beside_scores_is_asked_about():
    with pytest.raises(InputError, match="2 columns may be the scores: 'label', 'logits'"):
        roles({"filename": IMAGES, "label": ONE_HOT, "logits": LOGITS})


def test_beside_scores_a_top_k_of_the_truth_is_no_prediction_and_an_index_that_counts_is_not_told_of_twice():
    ranks = [[65, 1], [970, 2]]
    assert "index" not in headers(roles({"filename": IMAGES, "top5": ranks, "logits": LOGITS}))
    many = [f"{row}.JPEG" for row in range(12)]
    chosen = roles({"f": many, "index": list(range(12)), "class": [3, 4] * 6, "resnet": [5, 6] * 6})
    assert chosen.notes == ("Column 'index' counts the rows and was left out.",)
