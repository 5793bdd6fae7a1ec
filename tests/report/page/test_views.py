"""A newcomer is told the truth in words, and bounds where the truth is not known."""

import numpy as np
import pytest

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.datasets import load_dataset
from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR, IS_TOP1_ERROR, lower_bounds
from imagenet_errors.report.page.bars import bars, calibration, count_texts, share_texts
from imagenet_errors.report.page.headline import headline_of, in_words
from imagenet_errors.report.page.model_table import model_rows
from imagenet_errors.report.page.scatter import panels
from imagenet_errors.report.page.views import Setting, confusions, model_view, run_view
from imagenet_errors.report.points import BOUNDED, EXACT, UNKNOWN, Points, points_of_run
from imagenet_errors.runs.tables import load_run_tables

SEVERE = ERROR_TYPES.index("model_failure")


def one(counts, **states):
    """One model's counts by type in all groups."""
    array = np.tile(np.array([counts.get(name, 0) for name in ERROR_TYPES]), (1, 4, 1))
    state = np.array([[states.get(name, EXACT) for name in ERROR_TYPES]], dtype=np.int8)
    least = np.where(state[:, None] == BOUNDED, array // 2, array)
    level = np.full((1, 4), 90.0)
    return Points(("m",), array, least, array, state, level, level, {})


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "none is"),
        (0.004, "hardly any are"),
        (0.03, "about 3 in a hundred are"),
        (0.05, "about one in twenty is"),
        (0.249, "about one in four is"),
        (1 / 3, "about one in three is"),
        (0.4, "about two in five are"),
        (0.5, "about half are"),
        (0.66, "about two in three are"),
        (0.75, "about three in four are"),
        (0.9, "most are"),
        (0.999, "nearly all are"),
        (1.0, "all are"),
    ],
)
def test_shares_are_said_as_people_say_them(share, words):
    assert in_words(share) == words


@pytest.mark.parametrize("share", np.linspace(0.05, 0.36, 60))
def test_one_in_so_many_is_near_the_truth(share):
    words = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    said = (words + " seventeen eighteen nineteen twenty").split().index(in_words(share).split()[3])
    assert 1 / said == pytest.approx(share, rel=0.25)


def test_every_error_is_counted_by_what_it_counts_as():
    counts = {name: place for place, name in enumerate(ERROR_TYPES)}
    head = headline_of(one(counts), 0)
    assert head.right + head.minor + head.explained + head.severe == head.n_errors == sum(counts.values())
    assert head.minor == sum(count for name, count in counts.items() if COUNTS_AS[name] == "minor")


@pytest.mark.parametrize(
    ("severe", "other", "claim"),
    [
        pytest.param(0, 0, "makes no error on these images", id="none"),
        pytest.param(1, 0, "makes a single error, and it is severe", id="one, severe"),
        pytest.param(0, 1, "makes a single error, and it is not severe", id="one, not severe"),
        pytest.param(30, 60, "makes 90 errors; about one in three is severe", id="many"),
    ],
)
def test_the_claim_reads_well_for_any_number_of_errors(severe, other, claim):
    assert headline_of(one({"correct": 5, "class_overlap": other, "model_failure": severe}), 0).claim == claim


@pytest.mark.parametrize(
    ("state", "claim"),
    [
        pytest.param(UNKNOWN, "makes 90 errors; at most 33% are severe", id="a stage did not run"),
        pytest.param(BOUNDED, "makes 90 errors; between 17% and 33% are severe", id="evidence for some"),
    ],
)
def test_a_claim_that_hangs_on_missing_evidence_is_a_bound(state, claim):
    points = one({"class_overlap": 60, "model_failure": 30}, model_failure=state, fine_grained_oov=state)
    head = headline_of(points, 0)
    assert head.claim == claim
    assert head.open_types == ("fine_grained_oov", "model_failure")
    assert head.n_open == 30


@pytest.mark.parametrize(
    ("state", "count", "text"),
    [
        (EXACT, 1200, "1,200"),
        (EXACT, 0, "0"),
        (BOUNDED, 40, "20–40"),
        (UNKNOWN, 1200, "≤ 1,200"),
        (UNKNOWN, 0, "0"),
    ],
)
def test_a_count_is_written_as_far_as_it_is_known(state, count, text):
    assert count_texts(one({"model_failure": count}, model_failure=state), 0)[0][SEVERE] == text


def test_accuracies_and_shares_that_hang_on_a_stage_that_accepts_labels_say_so():
    """Ground truth alone: what would be right by another accepted label counts as wrong."""
    points = one({"class_overlap": 10, "fine_grained": 30, "model_failure": 60}, multi_object=UNKNOWN)
    assert "mla" in lower_bounds(points.open_types_of(0))
    assert model_rows(points, [{}], places=True)[0].cells[1][0] == "≥ 90.0%"
    assert lower_bounds(one({"model_failure": 1}).open_types_of(0)) == frozenset()
    assert share_texts(points, 0, IS_MULTI_LABEL_ERROR)[SEVERE] == "~ 66.7%"
    assert share_texts(points, 0, IS_TOP1_ERROR)[SEVERE] == "60.0%"


@pytest.fixture(scope="module")
def setting(demo_run):
    run = load_run_tables(demo_run.folder)
    ours = points_of_run(run)
    return Setting(run, load_dataset(), load_superclasses(), ours, None, panels(ours, None))


def test_a_group_without_an_error_of_a_type_that_was_asked_for_has_none(setting):
    groups, failures = setting.ours.groups, setting.ours.most[:, :, SEVERE]
    model, group = (int(at) for at in np.argwhere((failures == 0) & (failures[:, :1] > 0))[0])
    assert groups[group] == "other"
    assert count_texts(setting.ours, model)[group][SEVERE] == "0"


def test_the_most_frequent_pairs_of_each_type_are_found(demo_run, setting):
    found = confusions(setting.run, 0, most=1000)
    for error_type, rows in demo_run.verdicts(setting.run.models[0]).groupby("error_type", observed=True):
        if error_type != "correct":
            expected = rows.groupby(["target", "prediction"]).size().to_dict()
            assert {(pair.label, pair.prediction): pair.count for pair in found[error_type]} == expected
            counts = [pair.count for pair in found[error_type]]
            assert counts == sorted(counts, reverse=True)


def test_bins_of_confidence_hold_every_answer(demo_run, setting):
    found = calibration(setting.run, 0)
    verdicts = demo_run.verdicts(setting.run.models[0])
    assert sum(each.n_answers for each in found.bins) == len(verdicts)
    right = verdicts.error_type.isin(["correct", "class_overlap", "multi_object"])
    last = verdicts.confidence.astype(float) >= 0.9
    assert found.bins[-1].share_right == pytest.approx(right[last].mean())
    assert 0 < found.gap < 0.5


def test_a_groups_accuracy_by_its_own_labels_stands_beside_that_by_accepted_ones(demo_run, setting):
    view = model_view(setting, 0)
    verdicts = demo_run.verdicts(view.name)
    inside = imagenet_1k().in_group("organism")[verdicts.target]
    right = verdicts.error_type.isin(["correct", "class_overlap", "multi_object"])[inside]
    (organism,) = [group for group in view.groups if group.group == "organism"]
    assert organism.n_own == inside.sum()
    assert organism.mla_own == pytest.approx(right.groupby(verdicts.target[inside]).mean().mean())


def test_a_run_of_several_models_is_summed_up(setting):
    view = run_view(setting)
    assert view.n_models == 3
    assert view.slope is None  # three models make no trend
    assert view.consensus.histogram.sum() == len(setting.run.file_names)


def test_accuracies_that_forgive_what_was_not_measured_are_lower_bounds(setting):
    assert model_view(setting, 0).lower_bounds == {"mla_minor", "mla_explained"}


def test_parts_of_bars_that_depend_on_missing_evidence_have_their_bounds():
    points = one({"correct": 5, "fine_grained": 4, "model_failure": 6}, model_failure=BOUNDED)
    parts = {part.look.name: (part.text, part.is_open) for part in bars(points, 0)[0].segments}
    assert parts == {"fine_grained": ("4", False), "model_failure": ("3–6", True)}


def test_shares_have_bounds_where_counts_have(made_run):
    run = load_run_tables(made_run.folder)
    ours = points_of_run(run)
    setting = Setting(run, load_dataset(), load_superclasses(), ours, None, panels(ours, None))
    row = next(row for row in model_view(setting, 0).rows if row.look.name == "fine_grained_oov")
    place = ERROR_TYPES.index("fine_grained_oov")
    n_errors = int(ours.counts[0, 0, 1:].sum())
    least, most = (100 * int(bound[0, 0, place]) / n_errors for bound in (ours.least, ours.most))
    assert least < most
    assert row.of_top1 == f"{least:.1f}–{most:.1f}%"


def test_models_stand_in_order_of_accuracy():
    mla = np.array([[80.0], [90.0], [85.0]])
    counts = np.full((3, 1, len(ERROR_TYPES)), 5)
    points = Points.measured(("a", "b", "c"), counts, mla=mla, top1=mla, facts={})
    rows = model_rows(points, [{"arch_family": "cnn", "arch_group": "CNN"}, {}, {}], places=True)
    assert [(row.name, row.place) for row in rows] == [("b", 1), ("c", 2), ("a", 0)]
    assert rows[-1].told_facts == "CNN"
