"""The metric over batches, duplicates and workers is one call of ``evaluate``."""

import numpy as np
import pytest

import imagenet_errors as ie
from imagenet_errors.datasets import load_dataset
from imagenet_errors.metric import ACCURACIES
from patience import PATIENCE_SECONDS


@pytest.fixture
def annotations(val_images, tmp_path):
    return val_images.annotations(tmp_path / "annotations.csv", at_5="")


@pytest.fixture
def metric(annotations):
    return ie.ErrorTypes(annotations)


def expected(val_images, annotations):
    run = ie.evaluate((val_images.names, val_images.top1), annotations)
    (row,) = run.summary.to_pylist()
    shares = run.distribution.to_pandas().query("group == 'all'").set_index("error_type")
    return row, shares


def batches(n, size):
    return [slice(start, start + size) for start in range(0, n, size)]


def agrees(figures, val_images, annotations):
    row, shares = expected(val_images, annotations)
    assert figures["n_evaluated"] == row["n_evaluated"]
    for name in ACCURACIES:
        assert figures[name] == pytest.approx(row[name])
    for name, share in shares["portion_of_top1_errors"].dropna().items():
        assert figures[f"top1_errors/{name}"] == pytest.approx(share)
    for name, share in shares["portion_of_multi_label_errors"].dropna().items():
        assert figures[f"multi_label_errors/{name}"] == pytest.approx(share)


def test_batches_of_classes_are_one_evaluation(metric, val_images, annotations):
    for rows in batches(300, 64):
        metric.update(val_images.top1[rows], val_images.names[rows])
    agrees(metric.compute(), val_images, annotations)


def test_batches_of_scores_are_too(metric, val_images, annotations):
    for rows in batches(300, 50):
        metric.update(np.eye(1000, dtype=np.float32)[val_images.top1[rows]], val_images.names[rows])
    agrees(metric.compute(), val_images, annotations)


def test_images_that_a_sampler_repeats_count_once(metric, val_images, annotations):
    metric.update(val_images.top1, val_images.names)
    metric.update(val_images.top1[:7], val_images.names[:7])
    agrees(metric.compute(), val_images, annotations)


def test_an_image_predicted_twice_differently_is_told(metric, val_images):
    metric.update(val_images.top1, val_images.names)
    metric.update((val_images.top1[:7] + 1) % 1000, val_images.names[:7])
    with pytest.raises(ie.InputError, match="predicted twice, differently"):
        metric.compute()


def test_reset_forgets(metric, val_images, annotations):
    metric.update((val_images.top1 + 1) % 1000, val_images.names)
    metric.reset()
    metric.update(val_images.top1, val_images.names)
    agrees(metric.compute(), val_images, annotations)


def test_types_that_did_not_run_are_left_out_and_others_may_be_zero(metric, val_images):
    metric.update(val_images.label, val_images.names)
    figures = metric.compute()
    assert figures["top1_accuracy"] == 1
    assert "top1_errors/fine_grained_oov" not in figures


@pytest.mark.parametrize(
    ("values", "what"),
    [
        pytest.param(np.zeros((300, 10)), "10 outputs for 1000 classes", id="another head"),
        pytest.param(np.full((300, 1000), np.nan), "NaN or infinite values for 300 images", id="NaN"),
        pytest.param(np.full(300, 1000), "no classes 0..999", id="no class"),
        pytest.param(np.full(300, 0.5), "no classes 0..999", id="no whole number"),
        pytest.param(np.ones(300, dtype=bool), "an array of bool", id="truth values"),
        pytest.param(["tench"] * 300, "is no predictions", id="names"),
        pytest.param(np.zeros(299, dtype=int), "300 image names for 299 predictions", id="lengths"),
    ],
)
def test_what_names_no_class_is_refused(metric, val_images, values, what):
    with pytest.raises(ie.InputError, match=what):
        metric.update(values, val_images.names)


@pytest.mark.parametrize(
    "nothing", [[], np.zeros((0, 1000)), np.zeros(0, dtype=int)], ids=["list", "scores", "classes"]
)
def test_an_empty_batch_adds_nothing(metric, val_images, nothing):
    metric.update(nothing, [])
    metric.update(val_images.top1, val_images.names)
    assert metric.compute()["n_evaluated"] == 299


WORKER = """
import sys
import pandas as pd
import torch, torch.distributed as dist
import imagenet_errors as ie
from imagenet_errors.datasets import load_dataset

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}", rank=rank, world_size=2)
frame = pd.read_csv(sys.argv[3])
metric = ie.ErrorTypes(sys.argv[4])
repeated = frame.iloc[1:4:2]  # the first worker repeats two of the second's
mine = frame.iloc[1::2] if rank else pd.concat([frame.iloc[0::2], repeated])
metric.update(torch.tensor(mine.predicted_class.to_numpy()), mine.file_name.tolist())
figures = metric.compute()
if rank == 0:
    print({name: float(value) for name, value in figures.items()})
dist.destroy_process_group()
"""


def test_two_workers_are_one_call(val_images, annotations, tmp_path):
    pytest.importorskip("torchmetrics")
    import ast
    import subprocess
    import sys

    file = val_images.csv(tmp_path / "model.csv")
    arguments = [str(tmp_path / "rendezvous"), str(file), str(annotations)]
    command = [sys.executable, "-c", WORKER]
    workers = [
        subprocess.Popen([*command, str(rank), *arguments], stdout=subprocess.PIPE, text=True) for rank in range(2)
    ]
    said = [worker.communicate(timeout=PATIENCE_SECONDS)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    agrees(ast.literal_eval(said[0].strip().splitlines()[-1]), val_images, annotations)


def test_it_is_a_torchmetrics_metric_where_that_is_installed(metric):
    torchmetrics = pytest.importorskip("torchmetrics")
    assert isinstance(metric, torchmetrics.Metric)


class TestOtherDataSets:
    def given(self):
        first, second = load_dataset("imagenet-a").labels.occurring[:2]
        names = [f"{ie.classes.wnids[index]}/{n}.jpg" for index in (first, second) for n in range(4)]
        scores = np.zeros((8, len(ie.classes)))
        scores[:, first] = 1
        scores[:, next(i for i in range(1000) if i not in load_dataset("imagenet-a").labels.occurring)] = 2
        return names, scores

    @pytest.mark.parametrize(("mask", "right"), [(True, 0.5), (False, 0.0)])
    def test_names_tell_labels_and_scores_are_masked_where_asked(self, mask, right):
        names, scores = self.given()
        metric = ie.ErrorTypes(dataset="imagenet-a", images=names, mask_classes=mask)
        metric.update(scores, names)
        figures = metric.compute()
        assert figures["top1_accuracy"] == right
        assert "top1_errors/multi_object" not in figures

    def test_one_class_an_image_cannot_be_masked(self):
        names, _ = self.given()
        with pytest.raises(ie.InputError, match="best of those that occur is not known"):
            ie.ErrorTypes(dataset="imagenet-a", images=names, mask_classes=True).update(np.zeros(8, dtype=int), names)

    def test_classes_of_ones_own_are_counted_by_their_names(self, tmp_path):
        (tmp_path / "classes.csv").write_text("index,name\n0,cat\n1,dog\n")
        names = ["cat/1.png", "dog/1.png"]
        metric = ie.ErrorTypes(classes=tmp_path / "classes.csv", images=names)
        metric.update(np.array([[1.0, 0.0], [0.6, 0.4]]), names)
        assert metric.compute()["top1_accuracy"] == 0.5

    def test_without_names_or_annotations_what_is_lacking_is_said(self):
        with pytest.raises(ie.InputError, match="names no image"):
            ie.ErrorTypes(dataset="imagenet-a")
