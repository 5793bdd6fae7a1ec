"""Rankings agree with pandas."""

import pytest

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.report.page.tables import confusions, severe_classes, severe_superclasses
from imagenet_errors.runs.tables import load_run_tables


@pytest.fixture(scope="module")
def run(made_run):
    return load_run_tables(made_run.folder, models=("part",))


@pytest.fixture(scope="module")
def verdicts(made_run):
    return made_run.verdicts("part")


def test_the_most_frequent_pairs_of_each_type_are_found(run, verdicts):
    found = confusions(run, 0, most=1000)
    for error_type, rows in verdicts.groupby("error_type", observed=True):
        if error_type != "correct":
            expected = rows.groupby(["target", "prediction"]).size().to_dict()
            assert {(pair.label, pair.prediction): pair.count for pair in found[error_type]} == expected


def test_frequent_pairs_come_first_and_no_more_than_asked_for(run):
    counts = [pair.count for pair in confusions(run, 0, most=3)["model_failure"]]
    assert len(counts) == 3
    assert counts == sorted(counts, reverse=True)


def test_classes_are_ranked_by_severe_errors_of_their_images(run, verdicts):
    severe = verdicts[verdicts.error_type == "model_failure"].target.value_counts()
    found = severe_classes(run, 0, most=1000, n_classes=1000)
    assert {row.place: row.n_severe for row in found} == severe.to_dict()
    assert {row.place: row.n_images for row in found} == {
        label: (verdicts.target == label).sum() for label in severe.index
    }


def test_a_superclass_sums_up_its_classes(run, verdicts):
    superclasses = load_superclasses()
    (first,) = severe_superclasses(run, 0, most=1, superclasses=superclasses)
    inside = verdicts[verdicts.target.isin(superclasses.members[first.place].tolist())]
    assert first.n_severe == (inside.error_type == "model_failure").sum() > 0
    assert first.n_images == len(inside)
