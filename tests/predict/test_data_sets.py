"""Predicting with classes of one's own and with data sets that show some of ImageNet's, through to the report."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.datasets import load_dataset
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.predict.networks import head_of
from imagenet_errors.problems import InputError
from imagenet_errors.runs.manifest import read_manifest
from timm_world import MODELS, needs_timm, said

needs_timm()
NAMES = ("red ball", "green leaf", "yellow sun")
WNIDS = imagenet_1k().wnids


def colours(folder, names, n_each=4):
    """Write noisy pictures, each name's in a folder of its own."""
    from PIL import Image

    random = np.random.default_rng(3)
    for name in names:
        (folder / name).mkdir(parents=True)
        for number in range(n_each):
            pixels = random.integers(0, 90, (40, 40, 3)) + random.integers(0, 160, 3)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{name}_{number}.png")
    return folder


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Three classes, images, a superclass of two, and weights of a small timm network that always says the last."""
    import timm
    import torch

    folder = tmp_path_factory.mktemp("own")
    rows = [f"{index},{name},{'thing' if index == 0 else 'plant'}" for index, name in enumerate(NAMES)]
    (folder / "classes.csv").write_text("\n".join(["index,name,group", *rows]) + "\n")
    (folder / "kin.toml").write_text(
        'domain = "d"\n[[superclass]]\nname = "outside"\nreason = "r"\nclasses = ["1 green leaf", "2 yellow sun"]\n'
    )
    colours(folder / "images", NAMES)
    torch.manual_seed(0)
    network = timm.create_model("test_resnet", num_classes=3)
    with torch.no_grad():
        network.get_classifier().bias.copy_(torch.tensor([0.0, 0.0, 99.0]))
    torch.save(network.state_dict(), folder / "weights.pth")
    return folder


def counts(run, model):
    rows = pq.read_table(run / "distribution.parquet").to_pylist()
    return {row["error_type"]: row["count"] for row in rows if (row["model"], row["group"]) == (model, "all")}


@pytest.mark.parametrize("command", ["batch", "predict"])
def test_a_network_of_ones_own_classes_from_its_weights_to_the_page(program, own, tmp_path, command):
    common = ("--images", own / "images", "--classes", own / "classes.csv", "--device", "cpu")
    judged = ("--superclasses", own / "kin.toml")
    out, run = tmp_path / "predicted", tmp_path / "run"
    if command == "predict":
        answer = program("predict", f"test_resnet={own / 'weights.pth'}", *common, "--out", out)
        assert answer.status == 0, answer.err
        assert "Classes: the best of 3 classes." in answer.err
        answer = program("evaluate", out, "--classes", own / "classes.csv", *judged, "--no-check-order", "--out", run)
    else:
        answer = program("batch", f"test_resnet={own / 'weights.pth'}", *common, *judged, "--out", run)
    assert answer.status == 0, answer.err
    found = counts(run, "test_resnet.weights")
    assert [found[name] for name in ("correct", "fine_grained", "model_failure")] == [4, 4, 4]
    assert found["multi_object"] is None
    assert read_manifest(run).class_rule == "the best of 3 classes"
    assert program("report", run).status == 0
    page = (run / "report.html").read_text()
    assert "3 classes of classes.csv" in page
    assert "the best of 3 classes" in page
    assert "the original labels alone, as test_resnet.weights.parquet tells them" in page


def test_predictions_of_other_classes_are_made_again(program, own, tmp_path):
    common = ("predict", f"test_resnet={own / 'weights.pth'}", "--images", own / "images", "--device", "cpu")
    out = ("--out", tmp_path / "p")
    assert program(*common, "--classes", own / "classes.csv", *out).status == 0
    assert "1 done" in program(*common, "--classes", own / "classes.csv", *out, "--plan").out
    rows = [f"{index},{name}" for index, name in enumerate(reversed(NAMES))]
    (tmp_path / "other.csv").write_text("\n".join(["index,name", *rows]) + "\n")
    assert "label space was" in program(*common, "--classes", tmp_path / "other.csv", *out, "--plan").out


@pytest.fixture(scope="module")
def some_of_a(tmp_path_factory):
    """Images of four of ImageNet-A's classes."""
    occurring = load_dataset("imagenet-a").labels.occurring
    return colours(tmp_path_factory.mktemp("a") / "images", [WNIDS[index] for index in occurring[:4]])


def predicted(program, images, out, *more):
    common = ("--images", images, "--dataset", "imagenet-a", "--register", MODELS, "--device", "cpu", "--out", out)
    answer = program("predict", "tiny_net.seed1", *common, *more)
    assert answer.status == 0, answer.err
    return answer, out / "tiny_net.seed1.parquet"


def test_masked_scores_name_classes_that_occur_alone_and_every_page_says_so(program, some_of_a, tmp_path):
    answer, path = predicted(program, some_of_a, tmp_path / "masked", "--mask-classes")
    rule = "the best of the 200 classes that occur"
    assert f"Classes: {rule}." in answer.err
    table, occurring = pq.read_table(path), set(load_dataset("imagenet-a").labels.occurring)
    assert {one for five in table["top5_classes"].to_pylist() for one in five} <= occurring
    assert said(path)["head"] == {
        "axis": "all 1,000 classes", "n_outputs": 1000, "n_classes": 200, "n_classes_lacking": 0,
    }  # fmt: skip
    answer = program("evaluate", path, "--dataset", "imagenet-a", "--no-check-order", "--out", tmp_path / "run")
    assert f"predictions: {rule}" in answer.out
    assert read_manifest(tmp_path / "run").class_rule == rule
    assert read_manifest(tmp_path / "run").masked_models == ["tiny_net.seed1"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["label_set"].startswith("the original labels alone")


def test_masking_takes_the_best_of_what_is_left(program, some_of_a, tmp_path):
    import torch

    from imagenet_errors.predict.inference import top_classes

    labels = load_dataset("imagenet-a").labels
    scores = torch.rand(8, len(labels), generator=torch.Generator().manual_seed(1))
    head = head_of("m", len(labels), labels).restricted(labels.occurring, model="m")
    best = np.array(labels.occurring)[scores[:, list(labels.occurring)].argmax(dim=1).numpy()]
    assert top_classes(scores, head)[0][:, 0].tolist() == best.tolist()


def test_a_run_of_masked_and_unmasked_models_says_how_many_are_which(program, some_of_a, tmp_path):
    _, masked = predicted(program, some_of_a, tmp_path / "p", "--mask-classes")
    masked.rename(tmp_path / "masked.parquet")
    _, plain = predicted(program, some_of_a, tmp_path / "p")
    common = ("--dataset", "imagenet-a", "--no-check-order", "--out", tmp_path / "run")
    assert program("evaluate", tmp_path / "masked.parquet", plain, *common).status == 0
    manifest = read_manifest(tmp_path / "run")
    assert manifest.class_rule.startswith("1 model: the best of the 200 classes that occur; 1: the best of 1,000")
    assert manifest.masked_models == ["masked"]


def test_what_was_predicted_among_classes_that_occur_is_explained_among_them(program, some_of_a, tmp_path):
    _, masked = predicted(program, some_of_a, tmp_path / "p", "--mask-classes")
    common = ("--dataset", "imagenet-a", "--no-check-order", "--out")
    assert program("evaluate", masked, *common, tmp_path / "run").status == 0
    asked = ("--images", some_of_a, "--register", MODELS, "--device", "cpu", "--grid", "2", "--limit", "4")
    types = ("--error-types", "model_failure,fine_grained,spurious_correlation,class_overlap,multi_object")
    answer = program("explain", tmp_path / "run", "--model", "tiny_net.seed1", *asked, *types)
    assert answer.status == 0, answer.err
    table = pq.read_table(tmp_path / "run" / "explanations" / "locate" / "tiny_net.seed1.parquet")
    occurring = set(load_dataset("imagenet-a").labels.occurring)
    assert "other_answer" not in table["verdict"].to_pylist()
    assert {one for answers in table["answers"].to_pylist() for one in answers} <= occurring


def test_in_a_run_of_masked_and_unmasked_models_each_is_explained_as_it_was_predicted(program, some_of_a, tmp_path):
    _, masked = predicted(program, some_of_a, tmp_path / "p", "--mask-classes")
    _, plain = predicted(program, some_of_a, tmp_path / "q")
    plain.rename(tmp_path / "plain.parquet")
    run = tmp_path / "run"
    common = ("--dataset", "imagenet-a", "--no-check-order", "--out", run)
    assert program("evaluate", masked, tmp_path / "plain.parquet", *common).status == 0
    asked = ("explain", run, "--model", "tiny_net.seed1", "--images", some_of_a, "--register", MODELS)
    types = ("--error-types", "model_failure,fine_grained,spurious_correlation,class_overlap,multi_object")
    small = ("--device", "cpu", "--grid", "2", "--limit", "4", *types)
    for name, alike in (("tiny_net.seed1", True), ("plain", False)):
        assert program(*asked, "--run-model", name, *small).status == 0
        table = pq.read_table(run / "explanations" / "locate" / f"{name}.parquet")
        answers = {one for answers in table["answers"].to_pylist() for one in answers}
        assert "other_answer" not in table["verdict"].to_pylist()
        assert (answers <= set(load_dataset("imagenet-a").labels.occurring)) is alike
    facts = json.loads((run / "run.json").read_text())
    del facts["masked_models"]  # as an earlier version wrote it
    (run / "run.json").write_text(json.dumps(facts))
    answer = program(*asked, *small)
    assert answer.status == 2
    assert "Evaluate the model's predictions alone" in answer.err


def test_a_batch_takes_labels_from_the_images_folders_and_masks(program, some_of_a, tmp_path):
    common = ("--images", some_of_a, "--dataset", "imagenet-a", "--register", MODELS, "--device", "cpu")
    answer = program("batch", "tiny_net.seed[12]", *common, "--mask-classes", "--out", tmp_path / "run")
    assert answer.status == 0, answer.err
    assert read_manifest(tmp_path / "run").class_rule == "the best of the 200 classes that occur"
    assert pq.read_table(tmp_path / "run" / "summary.parquet")["n_evaluated"].to_pylist() == [16, 16]
    assert program("why", tmp_path / "run", f"{some_of_a.name}/nothing.png").status == 2


def test_masking_where_only_annotations_tell_what_occurs_is_refused_with_the_way_out(program, own, tmp_path):
    common = ("--images", own / "images", "--dataset", "objectnet", "--register", MODELS, "--out", tmp_path / "p")
    answer = program("predict", "tiny_net.seed1", *common, "--mask-classes")
    assert answer.status == 2
    assert "Use batch with --annotations" in answer.err


def space(*names, wnids=None, occurring=()):
    groups = ("",) * len(names)
    return LabelSpace(wnids or groups, names, names, groups, occurring)


class TestHeads:
    def test_as_many_outputs_as_occur_are_these_in_their_order(self):
        labels = load_dataset("imagenet-r").labels
        head = head_of("m", 200, labels)
        assert head.classes[np.argsort(head.positions)].tolist() == list(labels.occurring)
        assert len(head.classes) == 200

    def test_outputs_in_another_order_are_put_in_order(self):
        import torch

        from imagenet_errors.predict.inference import top_classes

        head = head_of("m", 3, space("cat", "dog", "cow"), label_names=["Cow", "cat", "dog"])
        assert not head.is_plain
        classes, _ = top_classes(torch.tensor([[9.0, 1.0, 2.0]]), head)
        assert classes[0, :3].tolist() == [2, 1, 0]

    def test_imagenets_outputs_count_for_classes_of_the_same_wnid(self):
        head = head_of("m", 1000, space("a", "b", wnids=(WNIDS[5], WNIDS[2])))
        assert (head.classes.tolist(), head.positions.tolist()) == ([0, 1], [5, 2])

    def test_imagenets_outputs_are_refused_where_they_name_none_of_the_classes(self):
        with pytest.raises(InputError, match=r"none of them is one of the 2 classes\. Name weights with 2 outputs"):
            head_of("m", 1000, space("a", "b"))

    def test_the_heads_that_would_fit_are_named(self):
        with pytest.raises(InputError, match=r"7 outputs.*Known heads: 3 outputs\.$"):
            head_of("m", 7, space("a", "b", "c"))
