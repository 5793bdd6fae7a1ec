"""A wrong row order or class axis is recognised, and files of mistakes only are not taken for one."""

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import val_labels
from imagenet_errors.readers.order import (
    Suspicion,
    common_ancestors,
    fits_clearly,
    fitting_shift,
    folders_moved,
    is_chance,
    kinship,
    refuse,
    relabelled,
    suspicion,
)

LABELS = imagenet_1k()
VAL = val_labels().astype(int)


def doubt(label, top1):
    return suspicion(np.asarray(label), np.asarray(top1), LABELS)


def model(n_rows, accuracy=0.75, seed=0):
    """Labels of n random validation images and predictions: mistakes stay near, where wnids sort kin together."""
    random = np.random.default_rng(seed)
    label = VAL[random.choice(len(VAL), n_rows, replace=False)]
    away = random.integers(2, 12, n_rows) * random.choice([-1, 1], n_rows)
    near = np.clip(label + away, 0, 999)
    return label, np.where(random.random(n_rows) < accuracy, label, near), random


SIZES = [20, 50, 200, 2_000, 50_000]


@pytest.mark.parametrize("n_rows", SIZES)
class TestBySize:
    def test_a_file_in_order_is_plausible(self, n_rows):
        label, top1, _ = model(n_rows)
        assert doubt(label, top1) is None

    def test_a_file_of_mistakes_only_is_plausible(self, n_rows):
        label, top1, _ = model(n_rows, accuracy=0)
        assert doubt(label[top1 != label], top1[top1 != label]) is None

    def test_permuted_rows_are_not(self, n_rows):
        label, top1, random = model(n_rows)
        permuted = random.permutation(top1)
        found = doubt(label, permuted)
        assert f"accuracy is at chance ({np.mean(permuted == label):.2%})" in found.what
        assert "--row-order" in found.fix
        assert "--no-check-order" in found.fix

    def test_permuted_classes_are_not(self, n_rows):
        label, top1, random = model(n_rows)
        found = doubt(label, random.permutation(1000)[top1])
        assert "accuracy is at chance" in found.what
        assert "--class-axis" in found.fix

    def test_a_background_class_in_front_is_told_with_its_flag(self, n_rows):
        label, top1, _ = model(n_rows)
        found = doubt(label, top1 + 1)
        as_written, shifted = (f"{np.mean(top1 + by == label):.2%}" for by in (1, 0))
        said = f"shifted: {as_written} are right as written, {shifted} with every class index -1"
        assert found.what == f"class indices are {said}"
        assert "--class-axis 1001" in found.fix

    def test_indices_one_too_low_are_told(self, n_rows):
        label, top1, _ = model(n_rows)
        found = doubt(np.maximum(label, 1), np.maximum(top1 - 1, 0))
        assert "with every class index +1" in found.what
        assert "Write indices 0..999" in found.fix


@pytest.mark.parametrize("n_rows", [1_300, 50_000])
def test_classes_in_the_order_of_the_development_kit_are_told_though_kin_stay_kin(n_rows):
    label, top1, random = model(n_rows, accuracy=0.7)
    moved = np.arange(1000)
    for group in ("organism", "artifact", "other"):  # the kit sorts animals first, too
        members = np.flatnonzero(LABELS.in_group(group))
        moved[members] = random.permutation(members)
    found = doubt(label, moved[top1])
    assert "the classes are in another order than ascending wnids" in found.what
    assert "--class-axis FILE" in found.fix


def test_fewer_than_20_rows_are_never_suspect():
    label, top1, random = model(19)
    assert doubt(label, random.permutation(1000)[top1]) is None


def test_mistakes_between_neighbouring_classes_are_no_shift():
    label = np.tile([638, 639, 836, 837, 248, 249], 20)
    other = np.tile([639, 638, 837, 836, 249, 248], 20)
    assert fitting_shift(label, other) == 0
    assert doubt(label, other) is None


def test_mistakes_on_images_of_one_class_are_plausible_when_kin():
    dogs, things = np.arange(160, 200), np.arange(600, 640)
    label = np.full(40, 151)
    assert doubt(label, dogs) is None
    assert doubt(label, things) is not None


def test_a_weak_model_on_hard_images_is_plausible():
    label, top1, _ = model(7_500, accuracy=0.005)
    assert doubt(label, top1) is None


@pytest.mark.parametrize(
    ("n_rows", "n_right", "chance"),
    [
        pytest.param(50_000, 50, True, id="one in a thousand"),
        pytest.param(50_000, 1_000, True, id="2 percent"),
        pytest.param(50_000, 1_100, False, id="more"),
        pytest.param(50, 5, True, id="5 of 50"),
        pytest.param(50, 6, False, id="6 of 50: four deviations and one above the one that luck gives"),
        pytest.param(50, 25, False, id="half of 50"),
        pytest.param(0, 0, True, id="nothing"),
    ],
)
def test_chance_is_what_luck_may_give(n_rows, n_right, chance):
    label = np.arange(n_rows) % 1000
    top1 = np.where(np.arange(n_rows) < n_right, label, np.roll(label, 7))
    assert is_chance(label, top1) == chance
    assert fits_clearly(label, top1) == (not chance)


def test_kinship_is_measured_against_shuffles_of_the_same_predictions():
    label, top1, random = model(60, accuracy=0.3)
    shared = common_ancestors(LABELS)
    by_chance = [shared[label, random.permutation(top1)].mean() for _ in range(4_000)]
    expected = (shared[label, top1].mean() - np.mean(by_chance)) / np.std(by_chance)
    assert kinship(label, top1, LABELS) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("n_classes", "labels", "told"),
    [
        pytest.param(20, [(7, 7, 7, 7)], "100%", id="always one label"),
        pytest.param(20, [(7, 7, 7, 8)], "50%", id="3 of 6 pairs"),
        pytest.param(20, [(7, 7, 7, 7), (7, 7, 8, 9)], "58%", id="classes count alike: all pairs, and 1 of 6"),
        pytest.param(20, [(7, 7, 8, 8)], "33%", id="2 of 6 pairs"),
        pytest.param(20, [(7, 7, 8, 9)], "", id="1 of 6 pairs: as among mistakes"),
        pytest.param(19, [(7, 7, 7, 7)], "", id="too few classes"),
        pytest.param(40, [(7, 7), (7,)], "100%", id="classes predicted once have no pair"),
        pytest.param(38, [(7, 7), (7,)], "", id="too few of those that have one"),
    ],
)
def test_renamed_classes_show_in_how_often_one_prediction_has_one_label(n_classes, labels, told):
    """``labels``: of the images that are called a class, for every class in turn."""
    rows = [(label, top1) for top1 in range(n_classes) for label in labels[top1 % len(labels)]]
    assert relabelled(*np.array(rows).T) == told


@pytest.mark.parametrize("away", [-3, 3], ids=["lower classes", "higher classes"])
def test_moved_class_folders_are_told_from_renamed_classes_by_what_mistakes_are_kin_of(away):
    label = np.repeat(np.arange(1000), 9)
    top1 = np.where(np.random.default_rng(0).random(9_000) < 0.7, label, np.clip(label + away, 0, 999))
    other = np.random.default_rng(1).permutation(1000)
    assert folders_moved(other[label], top1, LABELS)
    assert not folders_moved(label, other[top1], LABELS)


def test_what_was_found_is_raised_with_the_file():
    refuse(None, where="model.csv")
    with pytest.raises(InputError, match=r"model.csv: it is odd. Do that."):
        refuse(Suspicion("it is odd", "Do that."), where="model.csv")


TYPES = (
    "class_overlap",
    "multi_object",
    "fine_grained",
    "fine_grained_oov",
    "spurious_correlation",
    "non_prototypical",
    "model_failure",
)


class TestOnPublishedData:
    @pytest.mark.parametrize("kinds", [TYPES, *((kind,) for kind in TYPES)], ids="+".join)
    def test_published_mistakes_are_plausible_together_and_by_type(self, shared, kinds):
        with (shared / "published" / "published_cases.csv").open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["error_type"] in kinds]
        assert rows
        assert doubt([int(row["target"]) for row in rows], [int(row["prediction"]) for row in rows]) is None

    @pytest.mark.parametrize("name", ["alexnet", "vgg16", "pnasnet5large"])
    def test_a_real_models_mistakes_are_plausible_and_its_permutations_are_not(self, shared, name):
        table = pq.read_table(shared / "predictions_many" / f"{name}.parquet").sort_by("file_name")
        top1 = table["predicted_class"].to_numpy().astype(int)
        wrong = top1 != VAL
        random = np.random.default_rng(0)
        assert doubt(VAL, top1) is None
        assert doubt(VAL[wrong], top1[wrong]) is None
        assert "another order" in doubt(VAL, random.permutation(top1)).what
        assert "another order than ascending wnids" in doubt(VAL, random.permutation(1000)[top1]).what
