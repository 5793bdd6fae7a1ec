"""Published files of other data sets give the figures that are known of them."""

import csv

import pyarrow.parquet as pq
import pytest

from imagenet_errors.datasets import load_dataset
from imagenet_errors.evidence.superclasses import load_superclasses
from test_datasets import counts

DOCS = __import__("pathlib").Path(__file__).parents[1] / "docs" / "cifar100"


@pytest.fixture
def sets(shared):
    folder = shared / "datasets"
    if not folder.is_dir():
        pytest.skip("no shared data sets")
    return folder


def accuracy(run, model):
    return next(
        row["top1_accuracy"] for row in pq.read_table(run / "summary.parquet").to_pylist() if row["model"] == model
    )


def test_imagenet_v2_by_multilabelfy(program, sets, tmp_path):
    table = sets / "imagenet-v2" / "matched-frequency" / "top1_of_64_models.parquet"
    labels = sets / "imagenet-v2" / "as_published" / "imagenetv2_refined_labels.json"
    common = ("--dataset", "imagenet-v2", "--annotations", labels, "--out", tmp_path / "run")
    assert program("evaluate", table, *common, "--rejected-labels", "trust").status == 0
    found = counts(tmp_path / "run", "resnet50")
    assert [found[name] for name in ("correct", "class_overlap", "multi_object")] == [6_304, 42, 1_271]
    assert sum(found[name] for name in ("fine_grained", "spurious_correlation", "model_failure")) == 771 + 220 + 1_263


@pytest.mark.parametrize("model", ["resnet50", "mobilenet_v1_tf"])
def test_imagenet_v2_arrays_without_names_are_in_the_order_of_its_list(program, sets, tmp_path, model):
    folder = sets / "imagenet-v2" / "as_published"
    common = (
        "--dataset",
        "imagenet-v2",
        "--annotations",
        folder / "imagenetv2_refined_labels.json",
        "--rejected-labels",
        "trust",
    )
    array = folder / "matched-frequency" / f"{model}.npy"
    assert program("evaluate", array, *common, "--out", tmp_path / "array").status == 0
    table = sets / "imagenet-v2" / "matched-frequency" / "top1_of_64_models.parquet"
    column = ("--column", f"index={model}")
    assert program("evaluate", table, *column, *common, "--out", tmp_path / "table").status == 0
    assert counts(tmp_path / "array", model) == counts(tmp_path / "table", "top1_of_64_models")


def test_objectnet_as_published_and_as_a_table(program, sets, tmp_path):
    folder = sets / "objectnet"
    classes = folder / "as_published" / "objectnet_to_imagenet_1k.json"
    text = folder / "as_published" / "VGG-Full.txt"
    assert (
        program("evaluate", text, "--dataset", "objectnet", "--annotations", classes, "--out", tmp_path / "text").status
        == 0
    )
    assert accuracy(tmp_path / "text", "VGG-Full") == pytest.approx(0.1148, abs=5e-5)
    table = folder / "top5.parquet"
    assert (
        program("evaluate", table, "--dataset", "objectnet", "--annotations", table, "--out", tmp_path / "table").status
        == 0
    )
    found = {
        model: round(100 * accuracy(tmp_path / "table", model), 2) for model in ("VGG-Full", "VGG-box", "GoogLeNet-box")
    }
    assert found == {"VGG-Full": 11.48, "VGG-box": 28.23, "GoogLeNet-box": 27.13}


def test_groups_of_imagenet_a(program, sets, tmp_path):
    path = sets / "imagenet-a" / "imagenet-a_images.csv"
    assert program("evaluate", path, "--dataset", "imagenet-a", "--out", tmp_path / "run").status == 0
    rows = pq.read_table(tmp_path / "run" / "accuracy.parquet").to_pylist()
    sizes = {row["group"]: row["n_evaluated"] for row in rows if row["model"] == "adversary_a"}
    assert sizes == {"all": 7_500, "organism": 4_778, "artifact": 2_240, "other": 482}


def test_flaws_multi_labels_give_the_experts_verdicts(program, shared, sets, tmp_path):
    files = {
        "table": sets / "val-labels" / "multilabel.csv",
        "json": shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json",
    }
    for name, path in files.items():
        answer = program(
            "evaluate", shared / "predictions" / "ResNet50.csv", "--annotations", path, "--out", tmp_path / name
        )
        assert answer.status == 0, answer.err
    table, official = (pq.read_table(tmp_path / name / "verdicts" / "ResNet50.parquet") for name in files)
    assert len(table) == 18_692
    assert table.equals(official)


def test_cifar_100_with_its_own_coarse_classes(program, sets, tmp_path):
    folder = sets / "cifar100"
    own = (
        "--dataset",
        DOCS / "cifar100.toml",
        "--annotations",
        folder / "mturk.csv",
        "--annotations",
        folder / "labels.csv",
    )
    answer = program("evaluate", folder / "predictions.csv", *own, "--out", tmp_path / "run")
    assert answer.status == 0, answer.err
    found = counts(tmp_path / "run", "predictions")
    assert (found["correct"], found["multi_object"]) == (6_929, 95)
    assert found["fine_grained"] > found["multi_object"]


def test_the_classes_of_cifar_100_are_the_published_ones(sets):
    with (sets / "cifar100" / "class_names_seen.csv").open() as lines:
        names = [row["name"] for row in csv.DictReader(lines)]
    labels = load_dataset(str(DOCS / "cifar100.toml")).labels
    assert list(labels.names) == names


def test_every_class_of_cifar_100_is_in_one_of_20_coarse_ones():
    found = load_superclasses(DOCS / "superclasses.toml", labels=load_dataset(str(DOCS / "cifar100.toml")).labels)
    assert found.sizes.tolist() == [5] * 20
    assert not len(found.singles)
