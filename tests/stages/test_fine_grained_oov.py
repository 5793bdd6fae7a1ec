"""Fine-grained OOV explains a mistake when the evidence for this image and prediction says so."""

import pytest

from imagenet_errors.stages.fine_grained_oov import FineGrainedOov
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, one_case, oov

STAGE = FineGrainedOov(oov((0, MUG, True, "stein"), (0, BEAGLE, False, "beagle"), (3, SOFA, True, "futon")))


@pytest.mark.parametrize(
    ("prediction", "explained", "lacks_evidence"),
    [
        pytest.param(MUG, True, False, id="the evidence says out of vocabulary"),
        pytest.param(BEAGLE, False, False, id="the evidence says in vocabulary"),
        pytest.param(SOFA, False, True, id="the evidence is another image's"),
    ],
)
def test_explains(prediction, explained, lacks_evidence):
    finding = STAGE(one_case({SOFA}, prediction))
    assert finding.explains.tolist() == [explained]
    assert finding.lacks_evidence.tolist() == [lacks_evidence]


@pytest.mark.parametrize(
    ("prediction", "sentence"),
    [
        pytest.param(
            MUG,
            "The image shows something like mug that is none of the classes: the best proposal is “stein”.",
            id="yes",
        ),
        pytest.param(
            BEAGLE,
            "Nothing like beagle but outside the classes is found: the best proposal is “beagle”.",
            id="no",
        ),
        pytest.param(SOFA, "No evidence for this image and prediction.", id="unknown"),
    ],
)
def test_says(prediction, sentence):
    case = one_case({SOFA}, prediction)
    assert STAGE.says(case, STAGE(case), CLASS_NAMES).to_pylist() == [sentence]


def test_an_empty_table_explains_nothing():
    assert FineGrainedOov(oov())(one_case({SOFA}, MUG)).lacks_evidence.tolist() == [True]
