"""The published figures of Peychev et al. come out of our command line, on the published models' predictions.

The shared folder has predictions made with the same weights as eight of the published models.
"""

import csv
import json

import pandas as pd
import pytest

from imagenet_errors.labels import GROUPS

SAME_WEIGHTS = (
    "densenet169",
    "densenet201",
    "resnet18",
    "squeezenet1_0",
    "vgg11",
    "vgg13_bn",
    "vgg16",
    "vgg19_bn",
)
COUNTS = {
    "correct": "num_group_correct",
    "class_overlap": "num_collapsed_mappings",
    "multi_object": "num_ambiguous",
}


@pytest.fixture(scope="module")
def run(shared, tmp_path_factory):
    """One run over the eight models and AlexNet, by the expert multi-labels."""
    from pathlib import Path

    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    out = tmp_path_factory.mktemp("published") / "run"
    files = [shared / "predictions_many" / f"{model}.parquet" for model in (*SAME_WEIGHTS, "alexnet")]
    annotations = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
    sources = inputs_of(str(annotations), oov_evidence=shared / "published" / "oov_evidence.csv")
    evaluate(tuple(map(Path, files)), sources, out)
    return out


@pytest.fixture(scope="module")
def published(shared):
    """Group -> model -> row of the published statistics."""
    tables = {}
    for group in GROUPS:
        with (shared / "published" / f"stats_imagenet_{group}.csv").open(encoding="utf-8", newline="") as lines:
            tables[group] = {row["model_dir_id"].removeprefix("torchvision--"): row for row in csv.DictReader(lines)}
    return tables


def counts_of(run, model, group):
    distribution = pd.read_parquet(run / "distribution.parquet")
    chosen = distribution[(distribution["model"] == model) & (distribution["group"] == group)]
    return chosen.set_index("error_type")["count"]


def test_18692_of_20000_images_are_evaluated(run):
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (manifest["n_annotated"], manifest["n_evaluated"], manifest["n_excluded"]) == (
        20_000,
        18_692,
        1_308,
    )


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("model", SAME_WEIGHTS)
def test_correct_overlap_multi_object_and_accuracy_are_the_published_ones(run, published, model, group):
    theirs, ours = published[group][model], counts_of(run, model, group)
    assert {name: ours[name] for name in COUNTS} == {name: int(theirs[key]) for name, key in COUNTS.items()}
    assert ours.sum() == int(theirs["num_group_samples"])
    accuracy = pd.read_parquet(run / "accuracy.parquet").set_index(["model", "group"])
    assert accuracy.loc[(model, group), "mla"] * 100 == pytest.approx(float(theirs["mla_group"]), abs=1e-9)


def test_alexnet_differs_from_its_published_row_by_one_correct_artifact(run, published):
    """A difference of the predictions, not of the counting.

    The published row has one image more that is correct, an artifact of a class of 17 evaluated images, and
    equal counts of overlaps and multi-object cases.
    """
    differences = {
        group: {
            name: counts_of(run, "alexnet", group)[name] - int(published[group]["alexnet"][key])
            for name, key in COUNTS.items()
        }
        for group in GROUPS
    }
    same = {"correct": 0, "class_overlap": 0, "multi_object": 0}
    assert differences == {
        "all": same | {"correct": -1},
        "organism": same,
        "artifact": same | {"correct": -1},
        "other": same,
    }


@pytest.fixture(scope="module")
def cases(shared, tmp_path_factory):
    """The published single cases with our error type beside theirs; every distinct one judged once."""
    import numpy as np
    import pyarrow as pa

    from imagenet_errors.chain import ERROR_TYPES, PUBLISHED_ORDER
    from imagenet_errors.images import ImageIndex
    from imagenet_errors.inputs import load_basis
    from imagenet_errors.tables import cases_of
    from toy import inputs_of

    annotations_file = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
    sources = inputs_of(
        str(annotations_file),
        oov_evidence=shared / "published" / "oov_evidence.csv",
        non_prototypical=(shared / "human" / "vit3b_mistakes.json",),
    )
    from dataclasses import replace

    basis = load_basis(replace(sources, stage_order=PUBLISHED_ORDER))
    annotations = basis.annotations
    table = pd.read_csv(shared / "published" / "published_cases.csv")
    rows = ImageIndex(annotations.file_names).rows(pa.array(table["file_name"]), where="published_cases.csv")
    ours = basis.chain.ask(cases_of(annotations, rows, table["prediction"].to_numpy().astype(np.int16)))
    return table.assign(ours=[ERROR_TYPES[code] for code in ours.error_type])


@pytest.mark.parametrize("error_type", ["class_overlap", "multi_object"])
def test_every_published_case_of_the_first_two_stages_is_judged_alike(cases, error_type):
    chosen = cases[cases["error_type"] == error_type]
    assert len(chosen) > 100
    assert (chosen["ours"] == error_type).all()


def test_no_other_published_case_is_taken_for_one_of_the_first_two(cases):
    others = cases[~cases["error_type"].isin(["class_overlap", "multi_object"])]
    assert not others["ours"].isin(["class_overlap", "multi_object"]).any()


@pytest.mark.parametrize("error_type", ["fine_grained", "fine_grained_oov", "spurious_correlation", "model_failure"])
def test_nearly_every_published_case_of_the_later_stages_is_judged_alike(cases, error_type):
    """With the published outcomes of the OOV stage; our superclasses are our own, so not all need agree."""
    chosen = cases[cases["error_type"] == error_type]
    assert len(chosen) > 300
    assert (chosen["ours"] == error_type).mean() >= 0.98
