"""The shipped relation: complete and well told, of the published shape, and never changed unnoticed.

After a change that is meant: ``python scripts/report_superclasses.py --reference`` writes the reference anew.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import GROUPS, imagenet_1k
from imagenet_errors.report.superclasses import changed_pairs

REFERENCE = Path(__file__).parent / "reference.json"
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


@pytest.fixture(scope="module")
def superclasses():
    return load_superclasses()


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def told(pairs):
    names = imagenet_1k().names
    return [f"{a} {names[a]} – {b} {names[b]}" for a, b in pairs]


def test_an_edit_shows_the_pairs_it_gains_and_loses(superclasses):
    before = np.eye(1000, dtype=bool)
    for classes in json.loads(REFERENCE.read_text(encoding="utf-8")).values():
        before[np.ix_(classes, classes)] = True
    change = changed_pairs(before, superclasses.shares)
    report = ["pairs gained:", *told(change.gained), "pairs lost:", *told(change.lost)]
    assert len(change.gained) + len(change.lost) == 0, "\n".join(report)


def test_every_superclass_has_a_name_and_a_sentence_of_reason(superclasses):
    for name, reason in zip(superclasses.names, superclasses.reasons, strict=True):
        assert re.fullmatch(r"[A-Za-z].*[a-z]", name), name
        assert re.fullmatch(r"[A-Z].{10,}\.", reason), name


def test_no_two_superclasses_hold_the_same_classes(superclasses):
    members = [tuple(classes.tolist()) for classes in superclasses.members]
    assert len(set(members)) == len(members)


@pytest.mark.parametrize(
    ("group", "n_superclasses", "mean", "median", "largest", "alone"),
    [
        pytest.param("all", 161, 6.65, 4, 31, 74, id="all"),
        pytest.param("organism", 50, 9.8, 7.5, 31, 8, id="organism"),
        pytest.param("artifact", 101, 5.3, 4, 26, 59, id="artifact"),
        pytest.param("other", 16, 6.3, 4, 18, 7, id="other"),
    ],
)
def test_the_sizes_are_near_the_published_ones(superclasses, group, n_superclasses, mean, median, largest, alone):
    inside = imagenet_1k().in_group(group)
    sizes = superclasses.sizes[[inside[classes].any() for classes in superclasses.members]]
    assert len(sizes) == pytest.approx(n_superclasses, rel=0.15)
    assert sizes.mean() == pytest.approx(mean, rel=0.15)
    assert np.median(sizes) == pytest.approx(median, abs=1.5)
    assert sizes.min() == 2
    assert sizes.max() == pytest.approx(largest, abs=1)
    assert inside[superclasses.singles].sum() == pytest.approx(alone, abs=8)


def test_as_many_pairs_share_a_superclass_as_published_give_or_take_five_percent(superclasses):
    assert np.triu(superclasses.shares, 1).sum() == pytest.approx(5_476, rel=0.05)


@pytest.mark.parametrize("shares", [True, False], ids=["share one", "share none"])
def test_99_percent_of_the_published_pairs_come_out(superclasses, shared, shares):
    rows = rows_of(shared / "published" / "superclass_pairs.csv")
    pairs = np.array([(row["a"], row["b"]) for row in rows if row["share_superclass"] == str(shares)], int)
    assert len(pairs) > 400
    assert (superclasses.shares[pairs[:, 0], pairs[:, 1]] == shares).mean() >= 0.99


@pytest.fixture(scope="module")
def oov_cases(superclasses, shared):
    """The published OOV cases, each with the proposals that our relation gives."""
    from imagenet_errors.oov.proposals import Proposer
    from imagenet_errors.wordnet import load_wordnet

    proposer = Proposer(imagenet_1k(), load_wordnet(), superclasses.shares)
    rows = [row for row in rows_of(shared / "published" / "published_cases.csv") if row["proposal_count"]]
    rows += rows_of(shared / "published" / "oov_proposal_counts_more.csv")
    return [(row, proposer.names(int(row["prediction"]), int(row["target"]))) for row in rows]


def test_most_published_numbers_of_proposals_come_out(oov_cases):
    equal = [float(row["proposal_count"]) == len(names) for row, names in oov_cases]
    assert len(equal) > 500
    assert np.mean(equal) >= 0.98


def test_the_published_five_best_proposals_are_always_among_ours(oov_cases):
    for row, names in oov_cases:
        best = {(f"n{offset:08d}", name) for offset, name, _ in json.loads(row.get("top_proposals", "[]"))}
        assert best <= set(names), row["file_name"]


@pytest.fixture(scope="module")
def relative_errors(shared, tmp_path_factory):
    """(ours - published) / published fine-grained counts, of eight models in four groups, as [8, 4]."""
    import pandas as pd

    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    out = tmp_path_factory.mktemp("relation") / "run"
    files = tuple(shared / "predictions_many" / f"{model}.parquet" for model in SAME_WEIGHTS)
    annotations = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
    evaluate(files, inputs_of(str(annotations)), out)
    counts = pd.read_parquet(out / "distribution.parquet").set_index(["error_type", "model", "group"])["count"]
    errors = []
    for group in GROUPS:
        table = rows_of(shared / "published" / f"stats_imagenet_{group}.csv")
        theirs = {row["model_dir_id"]: int(row["num_same_superclass"]) for row in table}
        wanted = [theirs[f"torchvision--{model}"] for model in SAME_WEIGHTS]
        ours = [counts["fine_grained", model, group] for model in SAME_WEIGHTS]
        errors.append(np.array(ours) / np.array(wanted) - 1)
    return np.stack(errors, axis=1)


def test_fine_grained_counts_of_eight_models_are_near_the_published_ones(relative_errors):
    assert np.abs(relative_errors).mean() <= 0.01
    assert np.abs(relative_errors).max() <= 0.02


def test_fine_grained_counts_lean_in_no_direction(relative_errors):
    assert np.abs(relative_errors.mean(axis=0)).max() <= 0.005
