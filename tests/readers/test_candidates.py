"""Of several columns, the one that the images' labels show to be a model's is read; what cannot be told is asked."""

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


def test_ids_of_the_development_kit_are_read_as_such_where_only_so_they_are_right(tmp_path):
    ids = KIT_ID[real_looking(0.75)[:60]].tolist()
    (found,) = read(tmp_path / "vit.csv", np.arange(60), index=["", *ids[1:]]).values()
    assert found.top1.tolist() == real_looking(0.75)[1:60].tolist()
    assert "Only as ids of the ImageNet challenge's development kit are they right." in found.intake.notes


def test_beside_a_text_that_cannot_be_read_ids_of_the_development_kit_are_refused(tmp_path):
    ids = KIT_ID[real_looking(0.75)[:60]] - 1
    with pytest.raises(InputError, match="accuracy is at chance"):
        read(tmp_path / "vit.csv", np.arange(60), index=ids, label=["Schleie"] * 60)
