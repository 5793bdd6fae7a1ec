"""Multi-object explains a mistake when the prediction is one of the image's accepted labels."""

import pytest

from imagenet_errors.stages.multi_object import MultiObject
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, TABBY, TIGER_CAT, one_case


@pytest.mark.parametrize(
    ("accepted", "prediction", "explained"),
    [
        pytest.param({SOFA, TABBY}, TABBY, True, id="a second object"),
        pytest.param({TABBY}, TABBY, True, id="the only accepted label, though not the original one"),
        pytest.param({SOFA, TABBY}, TIGER_CAT, False, id="kin of an accepted label is not accepted"),
        pytest.param(set(), MUG, False, id="nothing is accepted"),
    ],
)
def test_explains(accepted, prediction, explained):
    assert MultiObject()(one_case(accepted, prediction)).explains.tolist() == [explained]


@pytest.mark.parametrize(
    ("prediction", "sentence"),
    [
        pytest.param(TABBY, "tabby is one of the image's accepted labels: tabby, sofa.", id="yes"),
        pytest.param(BEAGLE, "beagle is not among the accepted labels: tabby, sofa.", id="no"),
    ],
)
def test_says(prediction, sentence):
    case = one_case({SOFA, TABBY}, prediction)
    assert MultiObject().says(case, MultiObject()(case), CLASS_NAMES).to_pylist() == [sentence]
