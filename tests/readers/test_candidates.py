"""Of several columns, the one that the images' labels show to be a model's is read; what cannot be told is asked."""

import re

import numpy as np
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.class_axis import DEVKIT, class_axis
from imagenet_errors.readers.predictions import ReadRules, read_models, read_predictions
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(int)
RULES = ReadRules(allow_partial=True)
KIT_ID = np.argsort(class_axis(DEVKIT, LABELS).class_at) + 1


def read(path, rows, **columns):
    """Write a CSV file of these images by number and columns; return each model's classes."""
    names = val_file_names(np.asarray(rows) + 1).to_pylist()
    lines = [",".join(map(str, each)) for each in zip(names, *columns.values(), strict=True)]
    path.write_text("\n".join([",".join(["file_name", *columns]), *lines]))
    return {one.model: one.predictions() for one in read_models(path, REAL, LABELS, rules=RULES)}


def test_images_of_class_0_tell_the_truth_from_a_model_as_any_others_do(tmp_path):
    tenches = np.flatnonzero(LABEL == 0)
    model = np.where(np.arange(len(tenches)) % 5, 0, 1)
    (found,) = read(tmp_path / "vit.csv", tenches, label=LABEL[tenches], resnet50=model).values()
    assert found.top1.tolist() == model.tolist()
    assert "Column 'label' holds the original labels (100% of 50 rows are right)" in " ".join(found.intake.notes)


@pytest.mark.parametrize(("n_rows", "is_told"), [(19, False), (20, True)])
def test_twenty_rows_are_enough_to_tell_the_truth(tmp_path, n_rows, is_told):
    rows = np.arange(n_rows)
    model = np.where(rows % 4, LABEL[rows], (LABEL[rows] + 1) % 1000)
    columns = {"label": LABEL[rows], "resnet50": model}
    if is_told:
        (found,) = read(tmp_path / "vit.csv", rows, **columns).values()
        assert found.top1.tolist() == model.tolist()
    else:
        with pytest.raises(InputError, match="2 columns may be the predicted class"):
            read(tmp_path / "vit.csv", rows, **columns)


@pytest.mark.parametrize("is_weak", [False, True])
def test_a_submission_is_read_where_the_images_prove_it_and_else_refused_with_flags_that_read_it(tmp_path, is_weak):
    random, top1 = np.random.default_rng(0), real_looking(0.3)
    if is_weak:
        top1 = np.where(random.random(len(top1)) < 0.6, random.integers(0, 1000, len(top1)), top1)
    path = tmp_path / "vit.txt"
    np.savetxt(path, KIT_ID[(top1[:, None] + np.arange(5)) % 1000], fmt="%d")
    rules = ReadRules()
    if is_weak:
        with pytest.raises(InputError, match=r"laid out as a submission.*--row-order name and --class-axis devkit"):
            read_predictions(path, REAL, LABELS, rules=rules)
        rules = ReadRules(row_order="name", class_axis="devkit")
    assert read_predictions(path, REAL, LABELS, rules=rules).top1.tolist() == top1.tolist()


@pytest.mark.parametrize(("n_classes", "first_id", "is_submission"), [(5, 1, True), (6, 1, False), (5, 0, False)])
def test_five_classes_a_line_from_1_without_names_are_laid_out_as_a_submission(
    tmp_path, n_classes, first_id, is_submission
):
    ranks = (7 * np.arange(1000)[:, None] + np.arange(n_classes)) % 1000 + first_id
    np.savetxt(tmp_path / "vit.txt", ranks, fmt="%d")
    with pytest.raises(InputError) as refused:
        read_predictions(tmp_path / "vit.txt", REAL, LABELS, rules=RULES)
    assert ("laid out as a submission" in refused.value.what) == is_submission


def test_ids_of_the_development_kit_are_read_as_such_where_only_so_they_are_right(tmp_path):
    rows = np.append(np.arange(60), 1044)
    ids = KIT_ID[real_looking(0.75)[rows]].tolist()
    assert max(ids) == 1000
    (found,) = read(tmp_path / "vit.csv", rows, index=["", *ids[1:]]).values()
    assert found.top1.tolist() == real_looking(0.75)[rows[1:]].tolist()
    assert "Only as ids of the ImageNet challenge's development kit are they right." in found.intake.notes


def test_beside_a_text_that_cannot_be_read_ids_of_the_development_kit_are_refused(tmp_path):
    ids = KIT_ID[real_looking(0.75)[:60]] - 1
    with pytest.raises(InputError, match="accuracy is at chance"):
        read(tmp_path / "vit.csv", np.arange(60), index=ids, label=["Schleie"] * 60)


@pytest.mark.parametrize(
    ("n_rows", "is_noise", "taken"),
    [
        pytest.param(20, False, "index", id="the text is the truth"),
        pytest.param(19, False, "label", id="too few rows to tell"),
        pytest.param(20, True, "label", id="the index is nobody's"),
    ],
)
def test_where_an_index_and_a_text_differ_the_text_is_read_unless_it_is_the_truth(tmp_path, n_rows, is_noise, taken):
    rows = np.arange(n_rows)
    index = (LABEL[rows] + 500) % 1000 if is_noise else real_looking(0.75)[rows]
    wnids = np.asarray(LABELS.wnids)[LABEL[rows]]
    (found,) = read(tmp_path / "vit.csv", rows, index=index, label=wnids).values()
    assert found.top1.tolist() == (index if taken == "index" else LABEL[rows]).tolist()
    assert f"the {taken} was taken" in " ".join(found.intake.notes)


def test_a_text_is_the_truth_if_it_is_wherever_it_says_anything(tmp_path):
    rows = np.arange(30)
    wnids = [*np.asarray(LABELS.wnids)[LABEL[:20]], *[""] * 10]
    (found,) = read(tmp_path / "vit.csv", rows, index=(LABEL[rows] + rows % 2) % 1000, label=wnids).values()
    assert found.top1.tolist() == ((LABEL[rows] + rows % 2) % 1000).tolist()


@pytest.mark.parametrize("has_index", [True, False], ids=["index", "values of all classes"])
@pytest.mark.parametrize("is_truth", [True, False], ids=["the truth", "another model's"])
def test_so_it_is_where_values_of_all_classes_stand_for_the_index(tmp_path, has_index, is_truth):
    top1 = real_looking(0.75)[:20].astype(np.int64)
    text = LABEL[:20] if is_truth else real_looking(0.75, seed=1)[:20]
    stated = {"pred": top1} if has_index else {"probs": np.eye(1000)[top1]}
    names = np.array(val_file_names(np.arange(20) + 1).to_pylist())
    np.savez(tmp_path / "vit.npz", file_names=names, pred_label=np.asarray(LABELS.wnids)[text], **stated)
    found = read_predictions(tmp_path / "vit.npz", REAL, LABELS, rules=RULES)
    assert found.top1.tolist() == (top1 if is_truth else text).tolist()


def test_without_names_too_the_text_is_read_where_the_index_differs(tmp_path):
    top1 = real_looking(0.75)[:20]
    (tmp_path / "order.txt").write_text("\n".join(val_file_names(np.arange(20) + 1).to_pylist()))
    rows = [f"{(index + 500) % 1000},{LABELS.wnids[index]}" for index in top1]
    (tmp_path / "vit.csv").write_text("\n".join(["index,label", *rows]))
    rules = ReadRules(allow_partial=True, row_order=str(tmp_path / "order.txt"))
    assert read_predictions(tmp_path / "vit.csv", REAL, LABELS, rules=rules).top1.tolist() == top1.tolist()


def test_a_column_called_a_class_comes_before_one_that_may_be_a_model_unless_it_is_nearly_always_right(tmp_path):
    rows = np.arange(100)
    columns = {"class": real_looking(0.75)[rows], "vit": real_looking(0.5, seed=1)[rows]}
    (found,) = read(tmp_path / "a.csv", rows, **columns).values()
    assert found.top1.tolist() == columns["class"].tolist()
    assert "Column 'vit' was not read as the prediction." in found.intake.notes
    nearly = np.where(rows < 95, LABEL[rows], (LABEL[rows] + 1) % 1000)
    with pytest.raises(InputError, match=r"'class' \(right in 95\.0%\), 'vit' \(right in"):
        read(tmp_path / "b.csv", rows, **columns | {"class": nearly})


def test_ids_of_the_development_kit_from_0_are_refused_as_its_own_count_from_1(tmp_path):
    ids = KIT_ID[real_looking(0.75)[:60]] - 1
    ids[0] = 0
    with pytest.raises(InputError, match="accuracy is at chance"):
        read(tmp_path / "vit.csv", np.arange(60), index=ids)


def test_of_seven_columns_that_never_agree_the_first_six_are_shown_with_what_is_right(tmp_path):
    rows = np.arange(20)
    columns = {f"net{name}": (LABEL[rows] + 7 * step) % 1000 for step, name in enumerate("abcdefg", start=1)}
    with pytest.raises(InputError, match="7 columns that never name one class for an image") as refused:
        read(tmp_path / "vit.csv", rows, **columns)
    assert re.findall(r"'(\w+)' \(right in 0\.0%\)", refused.value.what) == list(columns)[:6]


def test_a_column_in_which_no_row_names_a_class_is_right_in_none(tmp_path):
    rows = np.arange(20)
    columns = {"neta": [-1] * 20, "netb": real_looking(0.75)[rows], "netc": (LABEL[rows] + 7) % 1000}
    with pytest.raises(InputError, match=r"'neta' \(right in 0\.0%\).*--column index='netb'"):
        read(tmp_path / "vit.csv", rows, **columns)


def test_ids_of_the_development_kit_are_no_guess_against_a_stated_axis(tmp_path):
    ids = KIT_ID[real_looking(0.75)[:60]]
    read(tmp_path / "vit.csv", np.arange(60), index=ids)
    with pytest.raises(InputError, match="accuracy is at chance"):
        read_predictions(
            tmp_path / "vit.csv", REAL, LABELS, rules=ReadRules(allow_partial=True, class_axis="imagenet-1k")
        )


@pytest.mark.parametrize("first", ["", "0"])
def test_classes_on_a_stated_axis_may_count_from_1_unless_one_is_0(tmp_path, first):
    names, top1 = val_file_names(np.arange(60) + 1).to_pylist(), real_looking(0.75)[1:60]
    rows = [f"{name},{index}" for name, index in zip(names, [first, *KIT_ID[top1]], strict=True)]
    (tmp_path / "vit.csv").write_text("\n".join(rows))
    rules = ReadRules(allow_partial=True, class_axis=DEVKIT)
    found = read_predictions(tmp_path / "vit.csv", REAL, LABELS, rules=rules)
    if first == "0":
        assert found.top1[1:].tolist() == class_axis(DEVKIT, LABELS).class_at[KIT_ID[top1]].tolist()
    else:
        assert found.top1.tolist() == top1.tolist()
