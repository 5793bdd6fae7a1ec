"""The first stage of the order that explains a case names its error; what none explains is a failure."""

import numpy as np
import pytest

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, PUBLISHED_ORDER, build_chain
from imagenet_errors.problems import InputError
from imagenet_errors.tables import cases_of
from toy import (
    BEAGLE,
    CLASS_NAMES,
    MUG,
    SOFA,
    TABBY,
    TIGER_CAT,
    annotations,
    co_occurrence,
    listed,
    one_case,
    oov,
    overlaps,
    whole_evidence,
)


def judged(case, order=DEFAULT_ORDER, **parts):
    verdicts = build_chain(whole_evidence(**parts), order).ask(case).verdicts(CLASS_NAMES)
    return [ERROR_TYPES[code] for code in verdicts.error_type], verdicts


@pytest.mark.parametrize(
    ("accepted", "prediction", "label", "parts", "expected"),
    [
        pytest.param({MUG}, SOFA, MUG, {}, "class_overlap", id="two names for one thing"),
        pytest.param({SOFA, TABBY}, TABBY, SOFA, {}, "multi_object", id="a second object"),
        pytest.param({TABBY}, TIGER_CAT, TABBY, {}, "fine_grained", id="kin"),
        pytest.param({MUG}, BEAGLE, MUG, {"oov": oov((0, BEAGLE, True, "wolf"))}, "fine_grained_oov", id="unnamed kin"),
        pytest.param({MUG}, BEAGLE, MUG, {"non_prototypical": listed(0)}, "non_prototypical", id="an odd instance"),
        pytest.param({SOFA}, TABBY, SOFA, {}, "spurious_correlation", id="usual company"),
        pytest.param({MUG}, BEAGLE, MUG, {}, "model_failure", id="nothing explains it"),
    ],
)
def test_each_error_type_is_found(accepted, prediction, label, parts, expected):
    assert judged(one_case(accepted, prediction, label), **parts)[0] == [expected]


def test_the_least_severe_explanation_wins():
    explained_by_four = {"oov": oov((0, TABBY, True, "cat")), "non_prototypical": listed(0)}
    for n_left, expected in enumerate(DEFAULT_ORDER[3:]):
        order = DEFAULT_ORDER[3 + n_left :]
        assert judged(one_case({SOFA}, TABBY), order, **explained_by_four)[0] == [expected]


def test_the_published_order_asks_for_spurious_correlations_before_non_prototypical_images():
    case, parts = one_case({SOFA}, TABBY), {"non_prototypical": listed(0)}
    assert judged(case, DEFAULT_ORDER, **parts)[0] == ["non_prototypical"]
    assert judged(case, PUBLISHED_ORDER, **parts)[0] == ["spurious_correlation"]


def test_every_case_keeps_its_own_sentence():
    images = annotations((SOFA, {SOFA}), (TABBY, {TABBY}), (MUG, {MUG}), (SOFA, {SOFA, MUG}))
    cases = cases_of(images, np.arange(4), np.array([TABBY, TIGER_CAT, BEAGLE, MUG], dtype=np.int16))
    types, verdicts = judged(cases)
    assert types == ["spurious_correlation", "fine_grained", "model_failure", "multi_object"]
    assert verdicts.explanation.to_pylist() == [
        "tabby and sofa appear together in 7 other images.",
        "tiger cat and tabby are both cats.",
        "Nothing explains beagle where the accepted labels are: mug.",
        "mug is one of the image's accepted labels: sofa, mug.",
    ]


def test_no_cases_give_no_verdicts():
    nothing = cases_of(annotations((SOFA, {SOFA})), np.array([], dtype=int), np.array([], dtype=np.int16))
    types, verdicts = judged(nothing)
    assert types == []
    assert verdicts.explanation.to_pylist() == []


def test_only_cases_that_reach_the_oov_stage_can_lack_its_evidence():
    images = annotations((SOFA, {SOFA}), (TABBY, {TABBY}))
    cases = cases_of(images, np.arange(2), np.array([BEAGLE, TIGER_CAT], dtype=np.int16))
    assert judged(cases)[1].lacking["fine_grained_oov"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("part", "stage", "flag"),
    [
        pytest.param("oov", "fine_grained_oov", "--oov-evidence", id="out-of-vocabulary evidence"),
        pytest.param("non_prototypical", "non_prototypical", "--non-prototypical", id="non-prototypical images"),
    ],
)
def test_a_stage_without_its_evidence_does_not_run_and_says_why(part, stage, flag):
    chain = build_chain(whole_evidence(**{part: None}))
    assert stage not in chain.order
    assert flag in chain.not_run[stage]


def test_a_stage_left_out_of_the_order_is_named():
    chain = build_chain(whole_evidence(), ("class_overlap", "multi_object"))
    assert chain.order == ("class_overlap", "multi_object")
    assert "--stage-order" in chain.not_run["fine_grained"]


@pytest.mark.parametrize(
    ("order", "what"),
    [
        pytest.param(("class_overlap", "co_occurrence"), "no stage 'co_occurrence'", id="unknown"),
        pytest.param(("class_overlap", "class_overlap"), "class_overlap is named twice", id="twice"),
    ],
)
def test_a_wrong_order_is_refused_with_the_names_that_are_known(order, what):
    with pytest.raises(InputError, match=what) as refused:
        build_chain(whole_evidence(), order)
    assert "fine_grained_oov" in str(refused.value)


def test_co_occurrence_and_superclass_are_told_apart_by_the_order():
    case = one_case({TABBY}, TIGER_CAT, TABBY)
    parts = {"co_occurrence": co_occurrence((TABBY, TIGER_CAT))}
    assert judged(case, ("spurious_correlation", "fine_grained"), **parts)[0] == ["spurious_correlation"]


REACHING = [
    pytest.param(SOFA, MUG, {MUG, SOFA}, False, id="the prediction is accepted"),
    pytest.param(TABBY, TIGER_CAT, {TABBY}, False, id="kin"),
    pytest.param(SOFA, BEAGLE, {SOFA}, True, id="unexplained"),
    pytest.param(SOFA, TABBY, {SOFA}, True, id="explained only by a later stage"),
]


@pytest.mark.parametrize("every_stage", [False, True], ids=["those left", "all cases"])
@pytest.mark.parametrize(("label", "prediction", "accepted", "reaches"), REACHING)
def test_a_case_reaches_a_stage_when_no_earlier_one_explains_it(label, prediction, accepted, reaches, every_stage):
    walk = build_chain(whole_evidence(oov=None)).ask(one_case(accepted, prediction, label), every_stage=every_stage)
    assert bool(len(walk.reaching("fine_grained_oov"))) is reaches


def test_the_chosen_order_decides_what_a_stage_is_asked():
    chain = build_chain(whole_evidence(oov=None), ("spurious_correlation", "fine_grained_oov"))
    assert not len(chain.ask(one_case({SOFA}, TABBY)).reaching("fine_grained_oov"))


def test_a_stage_that_is_left_out_is_never_reached():
    with pytest.raises(InputError, match="fine_grained_oov is not in it"):
        build_chain(whole_evidence(), ("fine_grained",)).ask(one_case({SOFA}, TABBY)).reaching("fine_grained_oov")


def test_asking_every_stage_about_all_cases_gives_the_same_verdicts():
    images = annotations((SOFA, {SOFA}), (TABBY, {TABBY}), (MUG, {MUG}), (SOFA, {SOFA, MUG}))
    cases = cases_of(images, np.arange(4), np.array([TABBY, TIGER_CAT, BEAGLE, MUG], dtype=np.int16))
    chain = build_chain(whole_evidence(oov=oov((0, BEAGLE, True, "wolf"))))
    few, every = (chain.ask(cases, every_stage=flag).verdicts(CLASS_NAMES) for flag in (False, True))
    assert few.error_type.tolist() == every.error_type.tolist()
    assert few.explanation.equals(every.explanation)
    assert {name: rows.tolist() for name, rows in few.lacking.items()} == {
        name: rows.tolist() for name, rows in every.lacking.items()
    }


def test_a_stage_whose_evidence_is_about_none_of_its_cases_has_not_run():
    chain = build_chain(whole_evidence(oov=oov((3, BEAGLE, True, "wolf"))))
    useful = chain.without_useless(chain.ask(one_case({MUG}, BEAGLE, MUG)))
    assert "fine_grained_oov" not in useful.order
    assert "none of the 1 cases" in useful.not_run["fine_grained_oov"]


def test_a_stage_that_no_case_came_to_is_not_useless():
    chain = build_chain(whole_evidence())
    walk = chain.ask(one_case({SOFA, TABBY}, TABBY))
    assert chain.without_useless(walk) is chain


def test_a_step_says_a_sentence_for_each_case_that_came_to_it_and_nothing_where_it_did_not_run():
    images = annotations((SOFA, {SOFA}), (TABBY, {TABBY}), (MUG, {MUG}))
    cases = cases_of(images, np.arange(3), np.array([SOFA, TIGER_CAT, BEAGLE], dtype=np.int16))
    steps = {step.name: step for step in build_chain(whole_evidence(oov=None)).ask(cases).steps}
    assert steps["fine_grained"].says(cases, CLASS_NAMES).to_pylist() == [
        "tiger cat and tabby are both cats.",
        "No superclass holds beagle and any of: mug.",
    ]
    with pytest.raises(ValueError, match="fine_grained_oov did not run"):
        steps["fine_grained_oov"].says(cases, CLASS_NAMES)


@pytest.mark.parametrize(
    ("accepted", "prediction", "parts", "expected"),
    [
        pytest.param({TABBY}, TIGER_CAT, {}, "fine_grained", id="class 0 is accepted"),
        pytest.param({TIGER_CAT}, TABBY, {}, "fine_grained", id="class 0 is predicted"),
        pytest.param({SOFA}, TABBY, {}, "spurious_correlation", id="class 0 is the companion"),
        pytest.param({TABBY}, SOFA, {}, "spurious_correlation", id="class 0 has the companion"),
        pytest.param({BEAGLE}, TABBY, {"overlaps": overlaps((BEAGLE, TABBY))}, "class_overlap", id="class 0 overlaps"),
        pytest.param({BEAGLE}, TABBY, {"oov": oov((0, TABBY, True, "lynx"))}, "fine_grained_oov", id="and is OOV"),
    ],
)
def test_class_0_is_a_class_like_any_other(accepted, prediction, parts, expected):
    assert judged(one_case(accepted, prediction, min(accepted)), **parts)[0] == [expected]
