"""Every case judged differently gets a kind, both reasons, and a place in the ranking."""

import numpy as np
import pyarrow as pa
import pytest

import toy
from imagenet_errors.chain import ERROR_TYPES, build_chain
from imagenet_errors.study.differences import KINDS, differences
from imagenet_errors.study.outcomes import PanelOutcomes, possible_types
from imagenet_errors.study.panel import PanelMistakes
from imagenet_errors.tables import cases_of
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT


def find(*cases, evidence=None, real_accepts=None):
    """Each case: (accepted labels, label, prediction, the panel's type, category as written, severity)."""
    accepted, label, prediction, human, category, severity = zip(*cases, strict=True)
    annotations = toy.annotations(*zip(label, accepted, strict=True))
    n_cases = len(cases)
    mistakes = PanelMistakes(
        cases=cases_of(annotations, np.arange(n_cases), np.array(prediction, dtype=np.int16)),
        models=("toy",),
        model=np.zeros(n_cases, dtype=np.int16),
        human=np.array([ERROR_TYPES.index(name) for name in human], dtype=np.int8),
        category=pa.array(category),
        severity=pa.array(severity),
    )
    chain = build_chain(evidence or toy.whole_evidence())
    outcomes = PanelOutcomes(mistakes.human, possible_types(chain.ask(mistakes.cases)))
    accepts = np.zeros(n_cases, dtype=bool) if real_accepts is None else np.array(real_accepts)
    return differences(mistakes, outcomes, chain, names=toy.CLASS_NAMES, real_accepts=accepts)


def case(accepted, prediction, human, *, label=None, category="as written", severity="Minor"):
    return (accepted, min(accepted) if label is None else label, prediction, human, category, severity)


@pytest.mark.parametrize(
    ("judged", "oov", "kind"),
    [
        pytest.param(
            case({SOFA, MUG}, MUG, "fine_grained", label=SOFA), (), "labels_accept_it", id="annotations accept"
        ),
        pytest.param(case({TABBY}, TIGER_CAT, "fine_grained_oov"), (), "panels_wording", id="kin inside or outside"),
        pytest.param(
            case({BEAGLE}, MUG, "fine_grained", category="Fine-grained with Multilabel Options"),
            (),
            "panels_wording",
            id="a category used once",
        ),
        pytest.param(
            case({TABBY}, TIGER_CAT, "non_prototypical"), (), "order_of_severity", id="listed, but kin as well"
        ),
        pytest.param(case({TABBY}, TIGER_CAT, "spurious_correlation"), (), "superclass_too_wide", id="kin to us alone"),
        pytest.param(case({BEAGLE}, MUG, "fine_grained"), (), "superclass_too_narrow", id="kin to them alone"),
        pytest.param(case({BEAGLE}, MUG, "fine_grained_oov"), (), "oov_evidence_missing", id="no evidence"),
        pytest.param(
            case({BEAGLE}, MUG, "fine_grained_oov"), ((0, MUG, False, None),), "oov_not_found", id="evidence: no"
        ),
        pytest.param(
            case({BEAGLE}, MUG, "spurious_correlation"), ((0, MUG, True, "jug"),), "oov_found", id="evidence: yes"
        ),
        pytest.param(
            case({BEAGLE}, MUG, "spurious_correlation"), (), "co_occurrence_missing", id="never seen together"
        ),
        pytest.param(
            case({TABBY}, SOFA, "fine_grained"), (), "superclass_too_narrow", id="we say spurious, they say kin"
        ),
    ],
)
def test_a_difference_gets_the_first_kind_that_fits(judged, oov, kind):
    listed = toy.listed(0) if judged[3] == "non_prototypical" else toy.listed()
    evidence = toy.whole_evidence(oov=toy.oov(*oov), non_prototypical=listed)
    assert find(judged, evidence=evidence).kind == (kind,)


def test_a_prediction_that_real_accepts_is_a_missing_multi_label():
    found = find(case({BEAGLE}, MUG, "spurious_correlation"), real_accepts=[True])
    assert found.kind == ("multi_label_missing",)


def test_without_the_list_a_non_prototypical_image_is_not_listed():
    evidence = toy.whole_evidence(non_prototypical=None)
    found = find(case({BEAGLE}, MUG, "non_prototypical"), evidence=evidence)
    assert found.kind == ("not_listed",)
    assert found.panels_stage_says[0].as_py().startswith("Not run: pass --non-prototypical FILE")


def test_cases_that_agree_are_no_differences():
    found = find(case({TABBY}, TIGER_CAT, "fine_grained"), case({BEAGLE}, MUG, "fine_grained"))
    assert found.rows.tolist() == [1]


def test_beside_our_reason_stands_what_the_panels_own_stage_says():
    found = find(case({BEAGLE}, MUG, "spurious_correlation"))
    assert found.panels_stage_says[0].as_py() == "mug does not co-occur with any of: beagle."


def test_of_one_kind_the_furthest_apart_come_first_then_the_most_severe():
    found = find(
        case({TABBY}, SOFA, "fine_grained", severity="Major"),  # ours: spurious, three steps away
        case({BEAGLE}, MUG, "fine_grained", severity="Minor"),  # ours: failure, four steps away
        case({BEAGLE}, MUG, "fine_grained", severity="Major"),
    )
    assert found.of_kind("superclass_too_narrow").tolist() == [2, 1, 0]


def test_kinds_are_counted_the_most_frequent_first():
    narrow, missing = case({BEAGLE}, MUG, "fine_grained"), case({BEAGLE}, MUG, "spurious_correlation")
    assert find(missing, narrow, narrow).kinds == (("superclass_too_narrow", 2), ("co_occurrence_missing", 1))


def test_every_kind_is_explained_in_a_sentence():
    assert all(text.endswith(".") for text in KINDS.values())
