"""Spurious correlation explains a mistake when prediction and an accepted label co-occur elsewhere."""

import numpy as np
import pytest

from imagenet_errors.evidence.co_occurrence import CoOccurrence
from imagenet_errors.stages.spurious_correlation import SpuriousCorrelation
from toy import BEAGLE, CLASS_NAMES, MUG, SOFA, TABBY, co_occurrence, one_case

STAGE = SpuriousCorrelation(co_occurrence((SOFA, TABBY)))


@pytest.mark.parametrize(
    ("accepted", "prediction", "explained"),
    [
        pytest.param({SOFA}, TABBY, True, id="they co-occur"),
        pytest.param({TABBY}, SOFA, True, id="in either role"),
        pytest.param({MUG, SOFA}, TABBY, True, id="one accepted label is enough"),
        pytest.param({MUG}, TABBY, False, id="they do not"),
        pytest.param(set(), TABBY, False, id="nothing is accepted"),
    ],
)
def test_explains(accepted, prediction, explained):
    assert STAGE(one_case(accepted, prediction)).explains.tolist() == [explained]


@pytest.mark.parametrize(
    ("stage", "prediction", "sentence"),
    [
        pytest.param(STAGE, TABBY, "tabby and sofa appear together in 7 other images.", id="counted"),
        pytest.param(
            SpuriousCorrelation(co_occurrence((SOFA, TABBY), n_images=0)),
            TABBY,
            "tabby and sofa are a listed pair.",
            id="a given list has no counts",
        ),
        pytest.param(STAGE, BEAGLE, "beagle does not co-occur with any of: sofa.", id="no"),
    ],
)
def test_says(stage, prediction, sentence):
    case = one_case({SOFA}, prediction)
    assert stage.says(case, stage(case), CLASS_NAMES).to_pylist() == [sentence]


def test_the_companion_seen_most_often_is_named():
    n_images = np.zeros((5, 5), dtype=np.int32)
    n_images[TABBY, [BEAGLE, SOFA, MUG]] = 2, 9, 4
    stage = SpuriousCorrelation(CoOccurrence(n_images > 0, n_images, "toy"))
    assert stage(one_case({BEAGLE, SOFA, MUG}, TABBY)).evidence["companion"].tolist() == [SOFA]
