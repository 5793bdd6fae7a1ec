"""A case needs evidence when no earlier stage explains it; the commonest ones come first."""

import numpy as np
import pytest

from imagenet_errors.chain import DEFAULT_ORDER, build_chain
from imagenet_errors.inputs import Inputs, load_basis
from imagenet_errors.mistakes import gather
from imagenet_errors.oov.plan import commonest, reaching_cases
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.tables import cases_of
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT, annotations, whole_evidence

CASES = [
    pytest.param(SOFA, MUG, {MUG, SOFA}, False, id="the prediction is accepted"),
    pytest.param(TABBY, TIGER_CAT, {TABBY}, False, id="kin"),
    pytest.param(SOFA, BEAGLE, {SOFA}, True, id="unexplained"),
    pytest.param(SOFA, TABBY, {SOFA}, True, id="explained only by a later stage"),
]


def reaching(case, order):
    return build_chain(whole_evidence(oov=None), order).ask(case).reaching("fine_grained_oov")


@pytest.mark.parametrize(("label", "prediction", "accepted", "reaches"), CASES)
def test_earlier_stages_are_asked_first(label, prediction, accepted, reaches):
    case = cases_of(annotations((label, accepted)), np.array([0]), np.array([prediction], dtype=np.int16))
    assert bool(len(reaching(case, DEFAULT_ORDER))) is reaches


def test_the_chosen_order_counts():
    case = cases_of(annotations((SOFA, {SOFA})), np.array([0]), np.array([TABBY], dtype=np.int16))
    assert not len(reaching(case, ("spurious_correlation", "fine_grained_oov")))


def test_a_stage_that_is_left_out_is_never_reached():
    case = cases_of(annotations((SOFA, {SOFA})), np.array([0]), np.array([TABBY], dtype=np.int16))
    with pytest.raises(InputError, match="fine_grained_oov is not in it"):
        reaching(case, ("fine_grained",))


def test_each_case_knows_how_many_models_made_it(val_images, tmp_path):
    one = val_images.csv(tmp_path / "one.csv", at_0=999, at_1=998)
    two = val_images.csv(tmp_path / "two.csv", at_0=999, at_1=997, at_3=5)
    basis = load_basis(Inputs(str(val_images.annotations(tmp_path / "annotations.csv", at_3=""))))
    with gather([one, two], basis, rules=ReadRules(check_order=False, allow_partial=True)) as mistakes:
        reached = reaching_cases(mistakes, basis)
    rows, counts = reached.cases.rows.tolist(), reached.n_models.tolist()
    made = dict(zip(zip(rows, reached.cases.prediction.tolist(), strict=True), counts, strict=True))
    assert (made[0, 999], made[1, 998], made[1, 997]) == (2, 1, 1)
    assert 3 not in rows, "excluded images are left out"


@pytest.mark.parametrize(
    ("share", "rows"),
    [
        pytest.param(1.0, [1, 3, 0, 2, 4], id="all"),
        pytest.param(0.8, [1, 3], id="two cases are 16 of 20 mistakes"),
        pytest.param(0.81, [1, 3, 0], id="a little more"),
        pytest.param(0.01, [1], id="never none"),
    ],
)
def test_the_commonest_cases_cover_the_most_with_the_least(share, rows):
    assert commonest(np.array([2, 9, 1, 7, 1]), share).tolist() == rows


def test_nothing_is_covered_by_nothing():
    assert commonest(np.array([], dtype=np.int64), 0.8).tolist() == []
