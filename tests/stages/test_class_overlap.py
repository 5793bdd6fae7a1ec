"""Class overlap explains a mistake when the prediction is another accepted name for the label's class."""

import pytest

from imagenet_errors.stages.class_overlap import ClassOverlap
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, one_case, overlaps

STAGE = ClassOverlap(overlaps((MUG, SOFA)))


@pytest.mark.parametrize(
    ("label", "prediction", "explained"),
    [
        pytest.param(MUG, SOFA, True, id="the listed direction"),
        pytest.param(SOFA, MUG, False, id="not the other way round"),
        pytest.param(MUG, BEAGLE, False, id="another class"),
    ],
)
def test_explains(label, prediction, explained):
    assert STAGE(one_case({BEAGLE}, prediction, label)).explains.tolist() == [explained]


def test_the_accepted_labels_do_not_matter():
    assert STAGE(one_case(set(), SOFA, MUG)).explains.tolist() == [True]


def test_the_sentence_gives_the_reason():
    case = one_case({MUG}, SOFA, MUG)
    assert STAGE.says(case, STAGE(case), CLASS_NAMES).to_pylist() == [
        "sofa is also right where the label is mug: a mug is a cup."
    ]


def test_the_sentence_says_no_too():
    case = one_case({MUG}, BEAGLE, MUG)
    assert STAGE.says(case, STAGE(case), CLASS_NAMES).to_pylist() == ["beagle is no other name for mug."]
