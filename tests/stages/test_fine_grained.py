"""Fine-grained explains a mistake when prediction and an accepted label share a superclass."""

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.stages.fine_grained import FineGrained
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, SUPERCLASSES, TABBY, TIGER_CAT, one_case

STAGE = FineGrained(SUPERCLASSES)


@pytest.mark.parametrize(
    ("accepted", "prediction", "explained"),
    [
        pytest.param({TABBY}, TIGER_CAT, True, id="both are cats"),
        pytest.param({SOFA, TABBY}, TIGER_CAT, True, id="one accepted label is enough"),
        pytest.param({TABBY}, BEAGLE, False, id="cat and dog are two superclasses"),
        pytest.param({SOFA}, MUG, False, id="classes outside every superclass share none"),
        pytest.param(set(), TABBY, False, id="nothing accepted, nothing shared"),
    ],
)
def test_explains(accepted, prediction, explained):
    assert STAGE(one_case(accepted, prediction)).explains.tolist() == [explained]


@pytest.mark.parametrize(
    ("prediction", "sentence"),
    [
        pytest.param(TIGER_CAT, "tiger cat and tabby are both cats.", id="yes"),
        pytest.param(MUG, "No superclass holds mug and any of: tabby, sofa.", id="no"),
    ],
)
def test_says(prediction, sentence):
    case = one_case({SOFA, TABBY}, prediction)
    assert STAGE.says(case, STAGE(case), CLASS_NAMES).to_pylist() == [sentence]


def test_the_original_label_is_the_kin_that_is_named():
    members = (np.array([TABBY, TIGER_CAT, BEAGLE]),)
    pets = FineGrained(Superclasses(("pets",), ("",), ("",), members, n_classes=5))
    assert pets(one_case({TABBY, BEAGLE}, TIGER_CAT, label=BEAGLE)).evidence["kin"].tolist() == [BEAGLE]
    assert pets(one_case({TABBY, BEAGLE}, TIGER_CAT, label=SOFA)).evidence["kin"].tolist() == [TABBY]


def test_where_the_label_is_no_kin_the_lowest_accepted_kin_is_named():
    furniture = Superclasses(("things",), ("kept at home",), ("home",), (np.array([TABBY, SOFA, MUG]),), n_classes=5)
    finding = FineGrained(furniture)(one_case({TABBY, MUG}, SOFA, label=BEAGLE))
    assert finding.evidence["kin"].tolist() == [TABBY]
