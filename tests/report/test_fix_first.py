"""Groups of errors are ranked by how many too many they are, and lead to exactly these errors."""

from dataclasses import replace

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.report.fix_first import Severities, Situation, excesses, leads, not_worth
from imagenet_errors.report.points import comparable, points_of_run
from imagenet_errors.runs.tables import load_run_tables

MULTI_LABEL = ("fine_grained", "fine_grained_oov", "non_prototypical", "spurious_correlation", "model_failure")


@pytest.fixture(scope="module")
def run(demo_run):
    return load_run_tables(demo_run.folder)


@pytest.fixture(scope="module")
def severe(run):
    return comparable("model_failure", points_of_run(run), None)


@pytest.fixture(scope="module")
def situation(run, severe):
    return Situation(Severities(run, severe, load_superclasses(), 1000), 0)


@pytest.fixture(scope="module")
def rows(demo_run, run, severe):
    verdicts = demo_run.verdicts(run.models[0])
    return verdicts.assign(severe=verdicts.error_type.isin(severe), wrong=verdicts.error_type.isin(MULTI_LABEL))


def test_what_counts_as_severe_is_all_that_missing_evidence_could_explain(severe):
    assert severe == ("fine_grained_oov", "non_prototypical", "spurious_correlation", "model_failure")


def test_classes_are_ranked_by_the_lower_end_of_their_excess(situation, rows):
    found = excesses(situation, "label", most=1000)
    assert [row.low for row in found] == sorted((row.low for row in found), reverse=True)
    rate = rows.severe.mean()
    for row in found[:20]:
        of_class = rows[rows.target == row.place]
        assert (row.n_severe, row.n_images) == (of_class.severe.sum(), len(of_class))
        assert row.expected == pytest.approx(rate * len(of_class))
        assert row.low <= row.n_severe - row.expected <= row.high


def test_a_superclass_sums_up_its_classes(situation, rows):
    (first,) = excesses(situation, "superclass")
    inside = rows[rows.target.isin(load_superclasses().members[first.place].tolist())]
    assert (first.n_severe, first.n_images) == (inside.severe.sum(), len(inside))


def test_few_errors_in_a_few_images_do_not_lead(situation):
    """In this small run no class or superclass has so many that chance could not have given them."""
    assert {lead.kind for lead in leads(situation)} <= {"unique", "sure"}
    assert excesses(situation, "label")[0].low < 1


def test_every_lead_counts_the_errors_that_its_question_finds(situation, rows, severe):
    for lead in leads(situation):
        asked = lead.question
        found = rows[rows.error_type.isin(asked["type"].split(","))]
        if "label" in asked:
            found = found[found.target == asked["label"]]
        if "prediction" in asked:
            found = found[found.prediction == asked["prediction"]]
        if "superclass" in asked:
            found = found[found.target.isin(load_superclasses().members[asked["superclass"]].tolist())]
        if "from" in asked:
            found = found[(1000 * found.confidence.astype(float)).round() >= 10 * asked["from"]]
        if "peers" not in asked:
            assert lead.n_errors == len(found), lead


def test_errors_of_this_model_alone_are_those_no_peer_makes(situation, demo_run, run, rows):
    (lead,) = [lead for lead in leads(situation) if lead.kind == "unique"]
    others = [demo_run.verdicts(model).set_index("file_name") for model in run.models[1:]]
    alone = rows[rows.severe].file_name
    alone = [name for name in alone if not any(each.error_type[name] in MULTI_LABEL for each in others)]
    assert lead.n_errors == len(alone) > 0


def test_confident_errors_stand_beside_what_the_confidence_promises(made_run):
    run = load_run_tables(made_run.folder, models=("good",))
    severe = comparable("model_failure", points_of_run(run), None)
    (lead,) = [lead for lead in leads(Situation(Severities(run, severe, None, 1000), 0)) if lead.kind == "sure"]
    rows = made_run.verdicts("good")
    sure = rows[(1000 * rows.confidence.astype(float)).round() >= 900]
    assert lead.n_errors == sure.error_type.isin(severe).sum()
    assert (lead.n_images, lead.n_compared) == (len(sure), sure.error_type.isin(MULTI_LABEL).sum())
    assert lead.expected == pytest.approx((1 - sure.confidence.astype(float)).sum(), rel=1e-5)


def test_what_a_group_is_worth_is_the_accuracy_gained(situation, rows):
    group = (rows.severe & (rows.target < 500)).to_numpy()
    lead = situation.lead("class", np.flatnonzero(group), {}, bounds=None)
    now = (1 - rows.groupby("target").wrong.mean()).mean()
    then = (1 - rows.assign(wrong=rows.wrong & ~group).groupby("target").wrong.mean()).mean()
    assert lead.worth > 0
    assert lead.worth == pytest.approx(100 * (then - now))


def test_a_group_with_many_too_many_leads_and_names_its_excess(demo_run):
    """Of one class every image is a severe error; of the others, few are."""
    run = load_run_tables(demo_run.folder, models=("efficientnet_lite0",))
    label = np.repeat(np.arange(20), 20)
    error_type = np.zeros((1, len(label)), dtype=np.int8)
    error_type[0, label == 7] = ERROR_TYPES.index("model_failure")
    error_type[0, ::37] = ERROR_TYPES.index("model_failure")
    nothing = np.full(error_type.shape, np.nan, dtype=np.float32)
    prediction = np.full_like(error_type, 3, dtype=np.int16)
    made = replace(run, label=label, error_type=error_type, prediction=prediction, confidence=nothing)
    first = leads(Situation(Severities(made, ("model_failure",), None, 20), 0))[0]
    assert (first.kind, first.question["label"], first.n_errors, first.n_images) == ("class", 7, 20, 20)
    assert first.low > 10


def test_label_issues_are_worth_no_multi_label_accuracy(situation, rows):
    (lead,) = [lead for lead in not_worth(situation) if lead.kind == "label_issue"]
    assert lead.n_errors == rows.error_type.isin(["class_overlap", "multi_object"]).sum()
    assert lead.worth == 0
    assert lead.worth_top1 == pytest.approx(100 * lead.n_errors / len(rows))
