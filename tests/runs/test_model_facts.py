"""timm's names tell what a model is and what it learnt from, by rules."""

import ast
import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evaluation import evaluate
from imagenet_errors.image_folder import ImageFolder
from imagenet_errors.mistakes import Failure
from imagenet_errors.predict.inference import Outputs
from imagenet_errors.predict.table import prediction_bytes
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.runs.model_facts import FACTS, facts_of, facts_of_file, facts_of_name, with_facts
from toy import inputs_of

METHODS = {
    "Distillation": "distillation",
    "Self-Supervised Learning": "self-supervised",
    "CLIP Training": "CLIP",
    "Adversarial Training": "adversarial",
    "Semi-Supervised Learning": "semi-supervised",
}


@pytest.mark.parametrize(
    ("name", "arch", "group", "family"),
    [
        ("resnet50.a1_in1k", "resnet", "ResNet", "cnn"),
        ("dla60_res2net.in1k", "res2net", "ResNet", "cnn"),
        ("nf_regnet_b1.ra2_in1k", "nfnet", "CNN", "cnn"),
        ("regnetz_d8.ra3_in1k", "regnet", "RegNet", "cnn"),
        ("inception_next_base.sail_in1k", "inception_next", "CNN", "cnn"),
        ("inception_resnet_v2.tf_in1k", "resnet", "ResNet", "cnn"),
        ("coat_tiny.in1k", "coat", "ViT", "transformer"),
        ("coatnet_0_rw_224.sw_in1k", "coatnet", "MaxViT", "hybrid"),
        ("mixer_b16_224.goog_in21k", "mlp-mixer", "MLP", "mlp"),
        ("mixnet_l.ft_in1k", "mixnet", "EfficientNet", "cnn"),
        ("vit_base_patch16_clip_224.openai", "vit", "ViT", "transformer"),
        ("levit_128.fb_dist_in1k", "levit", "Hybrid", "hybrid"),
    ],
)
def test_the_architecture_is_told_by_the_first_rule_that_fits(name, arch, group, family):
    facts = facts_of(name)
    assert (facts.arch, facts.arch_group, facts.arch_family) == (arch, group, family)


@pytest.mark.parametrize(
    ("name", "data", "n_images", "methods"),
    [
        ("resnet50.a1_in1k", "ImageNet-1k", 1_281_167, ("supervised",)),
        ("vit_base_patch16_224.augreg_in21k_ft_in1k", "ImageNet-21k", 14_197_122, ("supervised",)),
        ("vit_base_patch16_clip_224.laion2b_ft_in12k_in1k", "LAION-2B", 2_300_000_000, ("CLIP",)),
        ("tf_efficientnet_b7.ns_jft_in1k", "JFT", 300_000_000, ("semi-supervised",)),
        ("tf_efficientnet_b7.ap_in1k", "ImageNet-1k", 1_281_167, ("adversarial",)),
        ("resnext101_32x8d.fb_wsl_ig1b_ft_in1k", "Instagram", 940_000_000, ("supervised",)),
        ("resnet50.fb_ssl_yfcc100m_ft_in1k", "Flickr YFCC", 90_000_000, ("semi-supervised",)),
        ("convnextv2_base.fcmae_ft_in22k_in1k", "ImageNet-21k", 14_197_122, ("self-supervised",)),
        ("eva_giant_patch14_224.clip_ft_in1k", "LAION-400M", 400_000_000, ("self-supervised", "CLIP")),
        ("deit_base_distilled_patch16_224.fb_in1k", "ImageNet-1k", 1_281_167, ("distillation",)),
        ("resnet50.my_own_run", None, None, ()),
    ],
)
def test_the_tag_tells_training_data_and_method(name, data, n_images, methods):
    facts = facts_of(name)
    assert (facts.training_data, facts.n_training_images) == (data, n_images)
    assert facts.pretraining == methods


def test_an_architecture_that_no_rule_knows_has_no_facts_but_those_of_its_tag():
    facts = facts_of("unheard_of_net.in1k")
    assert facts.arch is facts.arch_group is facts.arch_family is None
    assert facts.training_data == "ImageNet-1k"


@pytest.mark.parametrize(
    ("column", "fact"),
    [("arch", "arch"), ("arch_group", "arch_group"), ("arch_family", "arch_family"), ("dataset", "training_data")],
)
def test_facts_agree_with_the_published_table(shared, column, fact):
    rows = published(shared)
    n_same = sum(getattr(facts_of(row["model_id"]), fact) == row[column] for row in rows)
    assert n_same >= 0.97 * len(rows)


def test_methods_agree_with_the_published_table(shared):
    rows = published(shared)
    n_same = sum(
        set(facts_of(row["model_id"]).pretraining)
        == ({METHODS[name] for name in ast.literal_eval(row["extra_annotations"])} or {"supervised"})
        for row in rows
    )
    assert n_same >= 0.97 * len(rows)


def published(shared):
    with (shared / "published" / "models_summary.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["source"] == "timm"]
    assert len(rows) == 863
    return rows


def test_every_model_of_timm_with_its_usual_head_has_an_architecture():
    timm = pytest.importorskip("timm", reason="needs the extra timm: timm is not installed")
    fine_tuned = [name for name in timm.list_pretrained() if "in1k" in name]
    unknown = sorted({name.partition(".")[0] for name in fine_tuned if facts_of(name).arch is None})
    assert len(unknown) <= 0.03 * len(fine_tuned), unknown


def test_the_summary_gets_the_columns_where_something_is_known():
    summary = pa.table({"model": ["a", "b"], "mla": [0.5, 0.6]})
    row = dict.fromkeys(FACTS.names) | {"arch": "vit", "pretraining": ["CLIP"]}
    table = with_facts(summary, {"b": row})
    assert table.column_names == ["model", "mla", *FACTS.names]
    assert table["arch"].to_pylist() == [None, "vit"]
    assert table["pretraining"].to_pylist() == [None, ["CLIP"]]


def test_the_summary_stays_as_it_is_where_nothing_is_known():
    summary = pa.table({"model": ["a"]})
    assert with_facts(summary, {}).equals(summary)


def test_a_file_that_predict_did_not_write_has_no_facts(tmp_path):
    path = tmp_path / "resnet50.a1_in1k.csv"
    path.write_text("file_name,predicted_class\n")
    assert facts_of_file(path) is None


@pytest.fixture
def own_file(val_images, tmp_path):
    """A predictions file as ``predict`` writes it, without a network."""
    names = tuple(val_images.names)
    classes = np.repeat(val_images.top1[:, None], 5, axis=1).astype(np.int16)
    shares, readable = np.full(classes.shape, 0.2, dtype=np.float32), np.zeros(len(names), dtype=bool)
    said = {"model": "deit3_base_patch16_224.fb_in22k_ft_in1k", "n_parameters": 86_585_320, "weights_sha256": "ab"}
    path = tmp_path / f"{said['model']}.parquet"
    images = ImageFolder(tmp_path, names, names, "cd")
    path.write_bytes(prediction_bytes(images, Outputs(classes, shares, readable, 8), said))
    return path


def run_of(path, out, **more):
    rules = ReadRules(allow_partial=True)
    return evaluate((path,), inputs_of("real"), out, rules=rules, **more)


def test_the_facts_of_our_own_files_travel_into_the_summary(own_file, tmp_path):
    run_of(own_file, tmp_path / "run")
    (row,) = pq.read_table(tmp_path / "run" / "summary.parquet").to_pylist()
    assert {name: row[name] for name in FACTS.names} == {
        "arch": "deit",
        "arch_group": "ViT",
        "arch_family": "transformer",
        "n_parameters": 86_585_320,
        "training_data": "ImageNet-21k",
        "n_training_images": 14_197_122,
        "pretraining": ["supervised"],
        "weights_sha256": "ab",
    }


@pytest.mark.parametrize("name", ["resnet152.a1h_in1k", "resnet152.a1h_in1k-288", "ResNet152.a1h_in1k"])
def test_a_file_called_as_timm_calls_a_model_has_its_facts(val_images, tmp_path, name):
    run_of(val_images.csv(tmp_path / f"{name}.csv"), tmp_path / "run")
    (row,) = pq.read_table(tmp_path / "run" / "summary.parquet").to_pylist()
    assert (row["model"], row["arch"], row["arch_family"]) == (name, "resnet", "cnn")
    assert (row["training_data"], row["pretraining"]) == ("ImageNet-1k", ["supervised"])
    assert row["n_parameters"] is row["weights_sha256"] is None


def test_the_summary_of_other_files_has_no_columns_of_facts(val_images, tmp_path):
    run_of(val_images.csv(tmp_path / "evaluation.csv"), tmp_path / "run")
    assert "arch" not in pq.read_schema(tmp_path / "run" / "summary.parquet").names


@pytest.mark.parametrize(
    "word", ["evaluation", "nested", "swing", "deity", "my_resnet50", "run_lambda_0.1", "coating", "vit", "model.in1k"]
)
def test_a_word_that_begins_like_an_architecture_has_no_facts(word):
    assert facts_of_name(word) is None


def test_every_architecture_of_timm_that_has_a_rule_is_told_by_name():
    timm = pytest.importorskip("timm", reason="needs the extra timm: timm is not installed")
    names = {name.partition(".")[0] for name in (*timm.list_models(), *timm.list_pretrained())}
    assert [name for name in names if facts_of(name).arch and facts_of_name(name) is None] == []


def test_models_that_failed_before_evaluation_are_listed_with_the_others(own_file, tmp_path):
    failed = Failure("vgg11.tv_in1k", tmp_path / "x.parquet", InputError("vgg11.tv_in1k", "memory ran out"))
    run_of(own_file, tmp_path / "run", failed=(failed,))
    (row,) = pq.read_table(tmp_path / "run" / "failures.parquet").to_pylist()
    assert (row["model"], row["reason"]) == ("vgg11.tv_in1k", "vgg11.tv_in1k: memory ran out.")
