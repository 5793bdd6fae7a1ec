"""Two models on the same images: counts by pandas, the test by scipy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.comparison import (
    Comparison,
    all_comparisons,
    all_peers,
    compare,
    consensus,
    whole_models,
)
from imagenet_errors.runs.tables import load_run_tables


@pytest.fixture(scope="module")
def run(made_run):
    return load_run_tables(made_run.folder, models=("good", "part"))


@pytest.fixture(scope="module")
def both(made_run):
    """The two models' verdicts side by side, on the images that both have."""
    return made_run.verdicts("good").merge(made_run.verdicts("part"), on="file_name", suffixes=("_a", "_b"))


def test_moves_are_counted_on_the_images_both_were_evaluated_on(run, both):
    expected = pd.crosstab(both.error_type_a.astype(str), both.error_type_b.astype(str))
    expected = expected.reindex(index=ERROR_TYPES, columns=ERROR_TYPES, fill_value=0)
    assert (compare(run, 0, 1).moves == expected.to_numpy()).all()


def test_errors_in_both_are_told_from_those_that_are_alike(run, both):
    wrong = both[(both.error_type_a != "correct") & (both.error_type_b != "correct")]
    found = compare(run, 0, 1)
    assert found.n_both == len(wrong)
    assert found.n_same == (wrong.prediction_a == wrong.prediction_b).sum()


def test_what_one_fixes_the_other_introduces(run):
    there, back = compare(run, 0, 1), compare(run, 1, 0)
    assert there.fixed.sum() > 0
    assert (there.fixed == back.introduced).all()
    assert there.p_value == pytest.approx(back.p_value)


def test_fixed_is_what_the_other_gets_right_and_an_overlap_is_still_an_error_of_its_type():
    correct, overlap, severe = (ERROR_TYPES.index(name) for name in ("correct", "class_overlap", "model_failure"))
    moves = np.zeros((len(ERROR_TYPES),) * 2, dtype=np.int64)
    moves[correct, correct], moves[severe, overlap], moves[severe, correct], moves[overlap, correct] = 50, 2, 3, 7
    fixed = dict(zip(ERROR_TYPES, Comparison(0, 1, moves, 0, 1.0).fixed.tolist(), strict=True))
    assert {name: n for name, n in fixed.items() if n} == {"class_overlap": 7, "model_failure": 3}
    assert Comparison(0, 1, moves, 0, 1.0).introduced.sum() == 0


def test_severe_errors_of_one_model_alone_are_counted(run, both):
    a, b = both.error_type_a == "model_failure", both.error_type_b == "model_failure"
    assert compare(run, 0, 1).severe_only == ((a & ~b).sum(), (b & ~a).sum())


def test_every_pair_is_compared_once(made_run):
    pairs = all_comparisons(load_run_tables(made_run.folder), most=100)
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert all(np.array([pair.n_images for pair in pairs]) >= 190)


def test_all_pairs_at_once_are_the_pairs_one_by_one(made_run):
    run = load_run_tables(made_run.folder)
    for pair in all_comparisons(run, most=100):
        alone = compare(run, pair.a, pair.b)
        assert (pair.moves == alone.moves).all()
        assert (pair.n_same, pair.p_value) == (alone.n_same, alone.p_value)


def test_error_consistency_is_cohens_kappa_of_right_and_wrong(run, both):
    expected = cohen_kappa_score(both.error_type_a == "correct", both.error_type_b == "correct")
    assert compare(run, 0, 1).kappa == pytest.approx(expected)


def test_consensus_counts_models_that_get_an_image_wrong_and_those_alike(demo_run):
    run = load_run_tables(demo_run.folder)
    agreed = consensus(run)
    rows = pd.concat(demo_run.verdicts(model) for model in run.models)
    wrong = rows[~rows.error_type.isin(["correct", "class_overlap", "multi_object"])]
    n_wrong = wrong.groupby("file_name").size()
    assert agreed.histogram[1:].tolist() == [int((n_wrong == n).sum()) for n in (1, 2, 3)]
    alike = wrong.groupby(["file_name", "prediction"]).size().groupby("file_name").max()
    assert sorted(agreed.n_alike[agreed.n_alike > 0]) == sorted(alike)
    names = run.file_names.take(agreed.nearly_all).to_pylist()
    assert set(names) == set(n_wrong[n_wrong == 3].index)


def test_only_models_evaluated_on_every_image_are_peers(made_run):
    run = load_run_tables(made_run.folder, models=("part", "good", "fair"))
    assert whole_models(run).tolist() == [1, 2]
    assert all_peers(run)[0].tolist() == [1, 2]
    assert all_peers(run)[1].tolist() == [2]
